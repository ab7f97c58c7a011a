import { callSite } from './call-site.ts';
import { isPlain, jsonText } from './json-text.ts';
import { ActiveSpan } from './span.ts';
import { currentSpan, state } from './state.ts';
import type { RecordedOperation } from './types.ts';

type Fn = (this: never, ...args: never[]) => unknown;
type MethodDecorator = <F extends Fn>(method: F, context: ClassMethodDecoratorContext) => F;

/**
 * Names a step of an agent: `const writeQuery = operation('write_query', async (question) => …)`, or `@operation('write_query')`
 * on a method. In the trainer each call becomes a span with input, output, errors and the place in the code, and LLM calls made
 * inside belong to it.
 */
export function operation<F extends Fn>(name: string, step: F): F;
export function operation(name: string): MethodDecorator;
export function operation(name: string, step?: Fn): Fn | MethodDecorator {
  const code = callSite(operation);
  if (step) return wrap(name, step, code);
  return <F extends Fn>(method: F, context: ClassMethodDecoratorContext): F => {
    if (context?.kind !== 'method') throw new TypeError('@operation decorates methods, with standard decorators (remove "experimentalDecorators" from tsconfig.json).');
    return wrap(name, method, code);
  };
}

function wrap<F extends Fn>(label: string, step: F, code: Record<string, string | number>): F {
  const named = step.name ? { ...code, 'code.function.name': step.name } : code;
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    const run = () => Reflect.apply(step, this, args) as unknown;
    const parent = currentSpan();
    if (!parent) return run();
    const input = jsonText(args.length === 1 ? args[0] : args);
    const span = new ActiveSpan(parent.attempt, parent, 'agentlightning.operation', { 'agentlightning.operation.name': label, ...named, 'agentlightning.operation.input': input }).begin();
    const known = parent.attempt.recorded.take(label, input);
    return known ? fromRecord(span, known) : recorded(span, run);
  };
  Object.defineProperty(wrapped, 'name', { value: step.name });
  return wrapped as unknown as F;
}

/** Ends the span with the recorded output and returns it; the step does not run. */
function fromRecord(span: ActiveSpan, { output, async }: RecordedOperation): unknown {
  Object.assign(span.attributes, { 'agentlightning.operation.output': output, 'agent_trainer.replay.recorded': true, 'agent_trainer.operation.replayable': true, ...(async ? { 'agent_trainer.operation.async': true } : {}) });
  span.end();
  const value: unknown = JSON.parse(output);
  return async ? Promise.resolve(value) : value;
}

/** Runs `body` under the span and ends it with the body, sync or async. */
export function recorded(span: ActiveSpan, body: () => unknown): unknown {
  const done = (output: unknown) => {
    span.attributes['agentlightning.operation.output'] = jsonText(output);
    if (isPlain(output)) span.attributes['agent_trainer.operation.replayable'] = true;
    span.end();
    return output;
  };
  const failed = (error: unknown): never => {
    span.fail(error);
    throw error;
  };
  return state.spans.run(span, () => {
    let result: unknown;
    try {
      result = body();
    } catch (error) {
      return failed(error);
    }
    if (!isThenable(result)) return done(result);
    span.attributes['agent_trainer.operation.async'] = true;
    return result.then(done, failed);
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
