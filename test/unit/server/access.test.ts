import assert from 'node:assert/strict';
import { refusalOf, sameSecret, tokenOf } from '../../../trainer/server/access.ts';

describe('access to the server', () => {
  it('is for loopback names only, on any port', () => {
    for (const host of ['127.0.0.1:4000', 'localhost:4000', 'localhost', '[::1]:4000']) assert.equal(refusalOf({ host }), null, host);
    for (const host of ['evil.example:4000', 'localhost.evil.example', '127.0.0.1.evil.example:4000', 'a@127.0.0.1.evil.example', 'evil.example@127.0.0.1', '127.0.0.1/evil.example', '', '0.0.0.0:4000', ':::']) {
      assert.match(refusalOf({ host }) ?? '', /is not this trainer's/, host);
    }
  });

  it('is not for web pages of other origins', () => {
    const host = '127.0.0.1:4000';
    assert.equal(refusalOf({ host, origin: 'http://127.0.0.1:4000' }), null);
    for (const origin of ['https://evil.example', 'http://127.0.0.1:3000', 'null', 'vscode-webview://x']) assert.match(refusalOf({ host, origin }) ?? '', /may not use/, origin);
  });

  it('finds the token in header or subprotocol', () => {
    assert.equal(tokenOf({ authorization: 'Bearer abc' }), 'abc');
    assert.equal(tokenOf({ 'sec-websocket-protocol': 'agent-trainer, bearer.abc' }), 'abc');
    assert.equal(tokenOf({ authorization: 'Basic abc' }), null);
    assert.equal(tokenOf({}), null);
  });

  it('compares secrets of any length', () => {
    assert.equal(sameSecret('abc', 'abc'), true);
    assert.equal(sameSecret('ab', 'abc'), false);
    assert.equal(sameSecret('', 'abc'), false);
  });
});
