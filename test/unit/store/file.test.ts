import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createContext, explaining } from '../../../trainer/store/context.ts';
import { openDatabase } from '../../../trainer/store/database.ts';
import { enqueueRollouts, listRollouts } from '../../../trainer/store/rollouts.ts';
import { schemaVersion } from '../../../trainer/store/schema.ts';
import { openStore } from '../../../trainer/store/store.ts';
import { drivers, trainerError } from './support.ts';

for (const driver of drivers) {
  describe(`store: its file (${driver})`, () => {
    let folder: string;
    let file: string;
    beforeEach(() => {
      folder = mkdtempSync(path.join(tmpdir(), 'store-'));
      file = path.join(folder, 'trainer.db');
    });
    afterEach(() => rmSync(folder, { recursive: true }));

    it('opens again with everything in it, in any driver', () => {
      const store = openStore(file, { driver });
      const [rollout] = store.enqueueRollouts([{ input: 'x' }]);
      store.close();
      for (const other of drivers) {
        const again = openStore(file, { driver: other });
        assert.deepEqual(again.getRollout(rollout!.rollout_id), { ...rollout, attempt: null });
        again.close();
      }
    });

    it('is refused when a newer version wrote it, and left as it was', () => {
      openStore(file, { driver }).close();
      const db = openDatabase(file, driver);
      db.exec(`PRAGMA user_version = ${schemaVersion + 1}`);
      db.close();
      for (let time = 0; time < 2; time++) assert.throws(() => openStore(file, { driver }), trainerError('environment', /newer Agent Trainer/));
    });

    it('is refused when it is something else', () => {
      writeFileSync(file, 'This is a diary, not a database. '.repeat(100));
      assert.throws(() => openStore(file, { driver }), trainerError('environment', /trainer\.db.*not a database/s));
    });

    it('is refused when another program made it', () => {
      const db = openDatabase(file, driver);
      db.exec('CREATE TABLE runs (kilometres REAL)');
      db.close();
      assert.throws(() => openStore(file, { driver }), trainerError('environment', /trainer\.db is a database of another program/));
    });

    it('names the file when reading finds it damaged', () => {
      const store = openStore(file, { driver });
      store.enqueueRollouts(Array.from({ length: 200 }, () => ({ input: 'x'.repeat(1000) })));
      store.close();
      const db = openDatabase(file, driver);
      db.all('PRAGMA wal_checkpoint(TRUNCATE)'); // all into the file itself
      db.close();
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0xff, 4096));
      const damaged = openStore(file, { driver });
      assert.throws(() => damaged.listRollouts({}), trainerError('environment', /trainer\.db failed .*The file is damaged/));
      damaged.close();
    });

    it('is refused when its folder does not exist', () => {
      assert.throws(() => openStore(path.join(folder, 'no', 'trainer.db'), { driver }), trainerError('environment', /folder exists/));
    });

    it('reports a full disk, keeps what was there and goes on when there is space', () => {
      openStore(file, { driver }).close();
      const db = explaining(openDatabase(file, driver), file);
      const context = createContext(db, () => 1);
      const pages = Number(db.get('PRAGMA page_count')!.page_count);
      db.exec(`PRAGMA max_page_count = ${pages + 4}`);
      enqueueRollouts(context, [{ input: 'small' }]);
      assert.throws(() => enqueueRollouts(context, [{ input: 'next' }, { input: 'x'.repeat(100_000) }]), trainerError('environment', /disk is full: free some space/i));
      assert.deepEqual(listRollouts(context, {}).map(({ input }) => input), ['small']);
      db.exec(`PRAGMA max_page_count = ${pages + 400}`);
      enqueueRollouts(context, [{ input: 'x'.repeat(100_000) }]);
      assert.equal(listRollouts(context, {}).length, 2);
      db.close();
    });

    it('serves two processes\' stores at once', () => {
      const [one, two] = [openStore(file, { driver }), openStore(file, { driver })];
      const [rollout] = one.enqueueRollouts([{ input: 'x' }]);
      assert.equal(two.dequeueRollout('w')!.rollout_id, rollout!.rollout_id);
      assert.equal(one.dequeueRollout('w'), undefined);
      one.close();
      two.close();
    });
  });
}
