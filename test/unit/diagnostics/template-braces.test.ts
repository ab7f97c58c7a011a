import assert from 'node:assert/strict';
import { fixed, marked, python } from './support.ts';

describe('diagnostic: a prompt template whose braces will not format', () => {
  it('finds JSON in a template and doubles its braces only', async () => {
    const text = python('text = """Answer as {"sql": "…", "notes": {}} to {question}""".format(question=task["q"])\nreturn score(text)');
    assert.deepEqual(await marked('template-braces', 'a.py', text), ['{"sql": "…", "notes": {}}']);
    assert.equal(await fixed('template-braces', 'a.py', text), text.replace('{"sql": "…", "notes": {}}', '{{"sql": "…", "notes": {{}}}}'));
  });

  it('finds a brace too many, in a constant of the module', async () => {
    const text = `PROMPT = "Q: {question}" "}"\n${python('return score(PROMPT.format(question=task["q"]))')}`;
    assert.deepEqual(await marked('template-braces', 'a.py', text), ['}']);
    assert.match(await fixed('template-braces', 'a.py', text), /"\}\}"/);
  });

  it('finds a placeholder that nothing is given for', async () => {
    assert.deepEqual(await marked('template-braces', 'a.py', python('return score("{question} {hint}".format(question=task["q"]))')), ['{hint}']);
  });

  it('finds it in the templates of libraries, in both languages', async () => {
    assert.deepEqual(await marked('template-braces', 'a.py', `from agent_trainer import PromptTemplate\nT = PromptTemplate("Reply {\\"a\\": 1} {q}")\n${python('return 1.0')}`), ['{\\"a\\": 1}']);
    assert.deepEqual(await marked('template-braces', 'a.ts', "import { PromptTemplate } from '@langchain/core/prompts';\nimport { rollout } from 'agent-trainer/runtime';\nconst t = PromptTemplate.fromTemplate('Reply {');\nexport const agent = rollout(async (task) => 1);\n"), ['{']);
  });

  it('accepts what formats', async () => {
    for (const template of ['"{question!r:>{width}} {{literal}}"', '"{0} {question.text} {question[0]}"', 'r"\\d{{2}} {question}"']) {
      assert.deepEqual(await marked('template-braces', 'a.py', python(`return score(${template}.format(1, question=task["q"], width=3))`)), [], template);
    }
    assert.deepEqual(await marked('template-braces', 'a.py', python('return score("{anything}".format(**task))')), []);
    assert.deepEqual(await marked('template-braces', 'a.py', `from agent_trainer import PromptTemplate\nT = PromptTemplate("{{ name }} {% if x %}", engine="jinja")\n${python('return 1.0')}`), []);
  });
});
