import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Template } from '@huggingface/jinja';
import { formatOf, type Message, type RenderChat } from '../../../trainer/export/conversation.ts';
import { goTemplate } from '../../../trainer/export/ollama.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { chatTemplates } from '../../fixtures/chat-templates.ts';

/** As Ollama calls Go's text/template: the messages, and what is in those of the system. */
const program = `package main
import ("encoding/json"; "os"; "strings"; "text/template")
type Message struct { Role, Content string }
func main() {
  var jobs []struct { Template string; Messages []*Message }
  if err := json.NewDecoder(os.Stdin).Decode(&jobs); err != nil { panic(err) }
  results := []string{}
  for _, job := range jobs {
    system := []string{}
    for _, message := range job.Messages { if message.Role == "system" { system = append(system, message.Content) } }
    var out strings.Builder
    if err := template.Must(template.New("").Option("missingkey=zero").Parse(job.Template)).Execute(&out, map[string]any{"System": strings.Join(system, "\\n\\n"), "Messages": job.Messages}); err != nil { panic(err) }
    results = append(results, out.String())
  }
  json.NewEncoder(os.Stdout).Encode(results)
}
`;

const user = (content: string): Message => ({ role: 'user', content });
const assistant = (content: string): Message => ({ role: 'assistant', content });
const system = (content: string): Message => ({ role: 'system', content });
const conversations: Message[][] = [
  [user('Hi')], [system('Be brief.'), user('{{ .Role }} "x" <b>')], [user('a'), assistant('b'), user('c'), assistant('d'), user('e')],
  [system('One\ntwo'), user('ü 🙂'), assistant('yes'), user('more')],
];

describe('templates for Ollama', () => {
  it('Go writes the prompts that the chat templates write', function () {
    if (spawnSync('go', ['version']).status !== 0) {
      process.stdout.write('      Go is not installed.\n');
      return this.skip();
    }
    const folder = mkdtempSync(path.join(tmpdir(), 'go-template-'));
    try {
      writeFileSync(path.join(folder, 'main.go'), program);
      const jobs = Object.entries(chatTemplates).flatMap(([name, template]) => {
        const jinja = new Template(template);
        const render: RenderChat = (messages) => {
          try {
            return jinja.render({ messages, add_generation_prompt: true, bos_token: '' });
          } catch (cause) {
            throw new TrainerError('bad_input', 'refused', { cause });
          }
        };
        const format = formatOf(render);
        assert.ok(format, name);
        return conversations.filter(([first]) => first!.role !== 'system' || format.system).map((Messages) => ({ name, Template: goTemplate(format), Messages, expected: render(Messages) }));
      });
      const { stdout, stderr } = spawnSync('go', ['run', 'main.go'], { cwd: folder, input: JSON.stringify(jobs), encoding: 'utf8', env: { ...process.env, GO111MODULE: 'off', GOFLAGS: '' } });
      assert.equal(stderr, '');
      (JSON.parse(stdout) as string[]).forEach((text, i) => assert.equal(text, jobs[i]!.expected, jobs[i]!.name));
    } finally {
      rmSync(folder, { recursive: true });
    }
  }).timeout(180_000);
});
