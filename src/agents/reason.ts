/** Why something was taken for an agent. Lines count from 0. */
export type Reason =
  | { by: 'decorator' | 'call' | 'base'; wrapper: string; line: number }
  /** The call that reaches the model; `from` and `to` are its callee's. */
  | { by: 'llm-call'; callee: string; line: number; from: number; to: number };

/** The reason in words, for example "calls client.chat.completions.create at line 12". */
export function reasonText(reason: Reason, t: (text: string, ...values: (string | number)[]) => string = plain): string {
  switch (reason.by) {
    case 'decorator': return t('decorated with {0} at line {1}', reason.wrapper, reason.line + 1);
    case 'call': return t('made by {0} at line {1}', reason.wrapper, reason.line + 1);
    case 'base': return t('extends {0} at line {1}', reason.wrapper, reason.line + 1);
    case 'llm-call': return t('calls {0} at line {1}', reason.callee, reason.line + 1);
  }
}

const plain = (text: string, ...values: (string | number)[]): string => text.replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)]));
