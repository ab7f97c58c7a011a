import { useBundle } from '../../trainer/protocol/l10n.ts';
import type { Bundle } from '../../trainer/protocol/l10n.ts';

// The first import of a page: what is imported after it may already say something.
useBundle(JSON.parse(document.getElementById('l10n')?.textContent ?? '{}') as Bundle);
