import { t } from '../../trainer/protocol/l10n.ts';
import type { TokensView } from '../../trainer/protocol/trace-views.ts';

export type Colouring = 'logprob' | 'advantage';
type Token = TokensView['response'][number];

/** How a token is coloured: `strength` 0…1. `largest`: the largest advantage in sight, by size. Below -5 nats a token counts as a surprise in full. */
export function tokenTone(token: Token, colouring: Colouring, largest: number): { tone: 'none' | 'surprise' | 'good' | 'bad'; strength: number; words: string } {
  const words = [
    token.logprob === null ? t('no log-probability') : t('log-probability {0} ({1} %)', token.logprob.toFixed(3), (Math.exp(token.logprob) * 100).toFixed(1)),
    token.advantage === null ? t('no advantage') : t('advantage {0}', token.advantage.toFixed(3)),
  ].join(', ');
  if (colouring === 'logprob') {
    if (token.logprob === null) return { tone: 'none', strength: 0, words };
    return { tone: 'surprise', strength: Math.min(1, -token.logprob / 5), words };
  }
  if (token.advantage === null || token.advantage === 0) return { tone: 'none', strength: 0, words };
  return { tone: token.advantage > 0 ? 'good' : 'bad', strength: 0.25 + 0.75 * Math.min(1, Math.abs(token.advantage) / largest), words };
}

/** Line ends are shown and kept; an empty token is seen too. */
export function visibleText(text: string): string {
  return text === '' ? '∅' : text.replaceAll('\n', '⏎\n').replaceAll('\t', '→\t');
}
