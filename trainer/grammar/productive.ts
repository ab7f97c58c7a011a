import { TrainerError } from '../protocol/errors.ts';
import type { Expr, Rule } from './expressions.ts';

/**
 * Names (keys of `rules`) of the rules that match no finite text. Throws TrainerError `bad_input` for a rule that begins with itself.
 */
export function unproductive(rules: ReadonlyMap<string, Rule>): Set<string> {
  for (const [name, rule] of rules) requireProgress(name, rule);
  const productive = new Set<Rule>();
  const foreign = (rule: Rule) => ![...rules.values()].includes(rule); // the rule of any value
  for (let grown = true; grown;) {
    grown = false;
    const known = new Map<Expr, boolean>();
    for (const rule of rules.values()) {
      if (productive.has(rule) || !ends(rule.body as Expr, (inner) => productive.has(inner) || foreign(inner), known)) continue;
      productive.add(rule);
      known.clear();
      grown = true;
    }
  }
  return new Set([...rules].filter(([, rule]) => !productive.has(rule)).map(([name]) => name));
}

/** Whether the expression matches some finite text. */
function ends(expr: Expr, isProductive: (rule: Rule) => boolean, known: Map<Expr, boolean>): boolean {
  const done = known.get(expr);
  if (done !== undefined) return done;
  const result = (() => {
    switch (expr.kind) {
      case 'none': return false;
      case 'end': case 'bytes': case 'automaton': case 'both': case 'not': return true;
      case 'either': return expr.options.some((option) => ends(option, isProductive, known));
      case 'repeat': return expr.min === 0 || ends(expr.of, isProductive, known);
      case 'rule': return isProductive(expr.rule);
      case 'seq': {
        // A loop: sequences are as long as the texts in them.
        let part: Expr = expr;
        for (; part.kind === 'seq'; part = part.rest) if (!ends(part.first, isProductive, known)) return false;
        return ends(part, isProductive, known);
      }
    }
  })();
  known.set(expr, result);
  return result;
}

function requireProgress(name: string, rule: Rule): void {
  const seen = new Set<Rule>();
  const open = [rule.body as Expr];
  for (let part = open.pop(); part; part = open.pop()) {
    if (part.kind === 'either') open.push(...part.options);
    else if (part.kind === 'seq') open.push(part.first);
    else if (part.kind === 'repeat') open.push(part.of);
    else if (part.kind === 'rule') {
      if (part.rule === rule) throw new TrainerError('bad_input', `at ${name}: the schema refers to itself without anything around it`, { details: { path: name } });
      if (!seen.has(part.rule)) open.push(part.rule.body as Expr);
      seen.add(part.rule);
    }
  }
}
