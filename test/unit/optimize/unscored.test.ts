import assert from 'node:assert/strict';
import { apo } from '../../../trainer/optimize/apo.ts';
import { gepa } from '../../../trainer/optimize/gepa.ts';
import type { Lab } from '../../../trainer/optimize/lab.ts';
import type { Proposer } from '../../../trainer/optimize/proposer.ts';
import { ApoConfig, GepaConfig } from '../../../trainer/protocol/optimize.ts';
import { makeLab, makeProposer, says, scriptedOptimizer } from './support.ts';

const algorithms: Record<string, (lab: Lab, proposer: Proposer) => Promise<void>> = {
  GEPA: (lab, proposer) => gepa(lab, proposer, GepaConfig.parse({})),
  APO: (lab, proposer) => apo(lab, proposer, ApoConfig.parse({})),
};

describe('optimize: tasks without a score', () => {
  for (const [name, search] of Object.entries(algorithms)) {
    it(`${name} says why when it is all of them, before it asks for a prompt`, async () => {
      const lab = makeLab({ reward: () => null });
      const ask = scriptedOptimizer(says('better'));
      await assert.rejects(search(lab, makeProposer(lab, ask)), { code: 'bad_input', message: /None of the 8 validation tasks got a score.*infra_error \(The server was down\.\)/ });
      assert.equal(ask.asked.length, 0);
    });

    it(`${name} compares by the others when it is some`, async () => {
      const lab = makeLab({ reward: ({ p }, { id }) => (/[13579]$/.test(id) ? null : p === 'better' ? 1 : 0), rollouts: 200 });
      await search(lab, makeProposer(lab, scriptedOptimizer(says('better'))));
      assert.equal(lab.best().texts['p'], 'better');
      assert.equal(lab.best().validation?.n, 4);
    });
  }
});
