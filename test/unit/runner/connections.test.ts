import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Connections, type Connection } from '../../../trainer/runner/connections.ts';

describe('Connections', () => {
  let connections: Connections;
  const sockets: Socket[] = [];
  const dial = () => {
    const [host, port] = connections.address.split(':');
    const socket = connect(Number(port), host);
    sockets.push(socket);
    return socket;
  };
  beforeEach(async () => { connections = await Connections.listen(); });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    connections.close();
  });

  it('lets a worker in by its token, once, and reads lines across packets', async () => {
    const lines: string[] = [];
    const arrived = new Promise<void>((resolve) => {
      const { token } = connections.expect((connection: Connection) => {
        connection.onLine = (line) => {
          lines.push(line);
          if (lines.length === 2) resolve();
        };
      });
      const socket = dial();
      socket.write(`{"type":"hello","token":"${token}"}\n{"a":`);
      socket.write('1}\nbé');
      socket.write('b\n');
    });
    await arrived;
    assert.deepEqual(lines, ['{"a":1}', 'béb']);
  });

  for (const greeting of ['{"type":"hello","token":"wrong"}', 'GET / HTTP/1.1', '{}', 'null', '']) {
    it(`turns away ${JSON.stringify(greeting)}`, async () => {
      connections.expect(() => assert.fail('let in'));
      const socket = dial();
      socket.write(`${greeting}\n`);
      await once(socket, 'close');
    });
  }

  it('turns away a token that was used, or is no longer expected', async () => {
    const { token } = connections.expect(() => {});
    const first = dial();
    first.write(`{"type":"hello","token":"${token}"}\n`);
    const second = dial();
    await once(first, 'connect');
    second.write(`{"type":"hello","token":"${token}"}\n`);
    await once(second, 'close');
    const door = connections.expect(() => assert.fail('let in'));
    door.forget();
    const third = dial();
    third.write(`{"type":"hello","token":"${door.token}"}\n`);
    await once(third, 'close');
  });
});
