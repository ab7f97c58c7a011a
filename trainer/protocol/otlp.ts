import { z } from 'zod';
import { TrainerError } from './errors.ts';
import { attr, type AttributeValue, type Attributes, type Span } from './span.ts';
import { parseAs } from './validate.ts';

/**
 * OTLP JSON (opentelemetry-proto, `TracesData` in its JSON mapping): ids in hex, 64-bit integers as text or number.
 * A file holds one object, several of them one per line, or a list of them. Unknown fields are ignored.
 */
interface AnyValue { stringValue?: string | undefined; boolValue?: boolean | undefined; intValue?: string | number | undefined; doubleValue?: number | undefined; arrayValue?: { values?: AnyValue[] | undefined } | undefined; kvlistValue?: { values?: KeyValue[] | undefined } | undefined; bytesValue?: string | undefined }
interface KeyValue { key: string; value?: AnyValue | undefined }

const AnyValue: z.ZodType<AnyValue> = z.lazy(() => z.object({
  stringValue: z.string().optional(), boolValue: z.boolean().optional(), intValue: z.union([z.string(), z.number()]).optional(), doubleValue: z.number().optional(), bytesValue: z.string().optional(),
  arrayValue: z.object({ values: z.array(AnyValue).optional() }).optional(), kvlistValue: z.object({ values: z.array(KeyValue).optional() }).optional(),
}));
const KeyValue: z.ZodType<KeyValue> = z.lazy(() => z.object({ key: z.string(), value: AnyValue.optional() }));
const Nanoseconds = z.union([z.string().regex(/^\d+$/), z.number()]).default('0');
const OtlpSpan = z.object({
  traceId: z.string(), spanId: z.string(), parentSpanId: z.string().nullish(), name: z.string().default(''),
  startTimeUnixNano: Nanoseconds, endTimeUnixNano: Nanoseconds, attributes: z.array(KeyValue).default([]),
  events: z.array(z.object({ timeUnixNano: Nanoseconds, name: z.string().default(''), attributes: z.array(KeyValue).default([]) })).default([]),
  status: z.object({ code: z.union([z.number(), z.string()]).optional(), message: z.string().optional() }).nullish(),
});
const Resource = z.object({ attributes: z.array(KeyValue).default([]) }).default({ attributes: [] });
const Scope = z.object({ spans: z.array(OtlpSpan).default([]) });
export const OtlpTraces = z.object({ resourceSpans: z.array(z.object({ resource: Resource, scopeSpans: z.array(Scope).optional(), instrumentationLibrarySpans: z.array(Scope).optional() })) });
export type OtlpTraces = z.input<typeof OtlpTraces>;

const rolloutKey = 'agentlightning.rollout_id';
const attemptKey = 'agentlightning.attempt_id';
const sequenceKey = 'agentlightning.span_sequence_id';

/** Spans as OTLP JSON. Rollout, attempt and order are resource and span attributes, so that they come back. */
export function toOtlp(spans: readonly Span[]): OtlpTraces {
  const attempts = new Map<string, Span[]>();
  for (const span of spans) {
    const key = `${span.rollout_id} ${span.attempt_id}`;
    const known = attempts.get(key);
    if (known) known.push(span);
    else attempts.set(key, [span]);
  }
  return {
    resourceSpans: [...attempts.values()].map((of) => ({
      resource: { attributes: keyValues({ 'service.name': 'agent-trainer', ...of[0]!.resource.attributes, [rolloutKey]: of[0]!.rollout_id, [attemptKey]: of[0]!.attempt_id }) },
      scopeSpans: [{ spans: of.map(otlpSpan) }],
    })),
  };
}

function otlpSpan(span: Span): z.input<typeof OtlpSpan> {
  return {
    traceId: span.trace_id, spanId: span.span_id, ...(span.parent_id === null ? {} : { parentSpanId: span.parent_id }), name: span.name,
    startTimeUnixNano: nanoseconds(span.start_time), endTimeUnixNano: nanoseconds(span.end_time ?? 0),
    attributes: keyValues({ ...span.attributes, [sequenceKey]: span.sequence_id }),
    events: span.events.map((event) => ({ timeUnixNano: nanoseconds(event.timestamp ?? span.start_time), name: event.name, attributes: keyValues(event.attributes) })),
    status: { code: { UNSET: 0, OK: 1, ERROR: 2 }[span.status.status_code], ...(span.status.description == null ? {} : { message: span.status.description }) },
  };
}

/** Integer nanoseconds as text; microseconds are what a double holds of the present time. */
function nanoseconds(seconds: number): string {
  return `${Math.round(seconds * 1e6)}000`.replace(/^0+(?=\d)/, '');
}

function keyValues(attributes: Attributes): KeyValue[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: Array.isArray(value) ? { arrayValue: { values: value.map(scalar) } } : scalar(value) }));
}

function scalar(value: string | number | boolean): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/**
 * Reads the text of an OTLP JSON file. A trace of another tool becomes a rollout named after its trace id.
 * Throws TrainerError 'bad_input' that says what is wrong with the text.
 */
export function fromOtlp(text: string, name: string): Span[] {
  const documents = parsed(text, name).flatMap((document) => (Array.isArray(document) ? document as unknown[] : [document]));
  let order = 0;
  return documents.flatMap((document) => parseAs(OtlpTraces, document, name).resourceSpans).flatMap(({ resource, scopeSpans, instrumentationLibrarySpans }) => {
    const resourceAttributes = attributesOf(resource.attributes);
    return [...scopeSpans ?? [], ...instrumentationLibrarySpans ?? []].flatMap((scope) => scope.spans).map((span) => spanOf(span, resourceAttributes, ++order));
  });
}

function parsed(text: string, name: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch (whole) {
    try {
      return text.split(/\r?\n/).filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as unknown);
    } catch {
      throw new TrainerError('bad_input', `${name} is not JSON, nor JSON line by line: ${(whole as Error).message}. Choose a file in OTLP JSON.`, { cause: whole });
    }
  }
}

function spanOf(span: z.output<typeof OtlpSpan>, resource: Attributes, order: number): Span {
  const { [sequenceKey]: sequence, ...attributes } = attributesOf(span.attributes);
  const { [rolloutKey]: rollout = attributes[rolloutKey], [attemptKey]: attempt, ...rest } = resource;
  const trace_id = hex(span.traceId);
  const end = Number(span.endTimeUnixNano) / 1e9;
  return {
    rollout_id: typeof rollout === 'string' ? rollout : trace_id,
    attempt_id: typeof attempt === 'string' ? attempt : trace_id,
    sequence_id: typeof sequence === 'number' ? sequence : order,
    trace_id,
    span_id: hex(span.spanId),
    parent_id: span.parentSpanId ? hex(span.parentSpanId) : null,
    name: span.name,
    status: { status_code: statusOf(span.status?.code), description: span.status?.message ?? null },
    attributes: withKnownNames(attributes),
    events: span.events.map((event) => ({ name: event.name, timestamp: Number(event.timeUnixNano) / 1e9, attributes: attributesOf(event.attributes) })),
    start_time: Number(span.startTimeUnixNano) / 1e9,
    end_time: end > 0 ? end : null,
    resource: { attributes: rest },
  };
}

/** Hex as it is; base64, which some exporters write, as hex. */
function hex(id: string): string {
  if (/^[\da-f]*$/i.test(id)) return id.toLowerCase();
  return [...atob(id)].map((char) => char.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}

function statusOf(code: number | string | undefined): Span['status']['status_code'] {
  if (code === 2 || code === 'STATUS_CODE_ERROR') return 'ERROR';
  return code === 1 || code === 'STATUS_CODE_OK' ? 'OK' : 'UNSET';
}

function attributesOf(pairs: readonly KeyValue[]): Attributes {
  return Object.fromEntries(pairs.flatMap(({ key, value }) => {
    const plain = value === undefined ? undefined : valueOf(value);
    if (plain === undefined || plain === null) return [];
    return [[key, isAttribute(plain) ? plain : JSON.stringify(plain)]];
  }));
}

function valueOf(value: AnyValue): unknown {
  if (value.intValue !== undefined) return Number(value.intValue);
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(valueOf);
  if (value.kvlistValue !== undefined) return Object.fromEntries((value.kvlistValue.values ?? []).map((pair) => [pair.key, pair.value === undefined ? null : valueOf(pair.value)]));
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? value.bytesValue;
}

function isAttribute(value: unknown): value is AttributeValue {
  if (!Array.isArray(value)) return typeof value !== 'object';
  return ['string', 'number', 'boolean'].some((type) => value.every((item) => typeof item === type));
}

/** Names that earlier revisions of the GenAI conventions used. */
const renamed: Record<string, string> = {
  'gen_ai.prompt': attr.inputMessages, 'gen_ai.completion': attr.outputMessages, 'gen_ai.usage.prompt_tokens': attr.inputTokens, 'gen_ai.usage.completion_tokens': attr.outputTokens, 'gen_ai.system': attr.provider,
};

function withKnownNames(attributes: Attributes): Attributes {
  const known = { ...attributes };
  for (const [before, now] of Object.entries(renamed)) if (known[before] !== undefined && known[now] === undefined) known[now] = known[before];
  return known;
}
