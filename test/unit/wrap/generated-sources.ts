import fc from 'fast-check';

export interface GeneratedSource { fileName: string; text: string; functions: string[] }

type Language = 'python' | 'typescript' | 'javascript' | 'commonjs';
const oneOf = (...values: string[]) => fc.constantFrom(...values);

/** Sources as people write them: headers, imports, clients, functions in many styles, with either line ending. `functions` can all be wrapped. */
export function generatedSource(language: Language): fc.Arbitrary<GeneratedSource> {
  return fc.tuple(header(language), fc.array(language === 'python' ? pythonFunction() : scriptFunction(language), { minLength: 1, maxLength: 3 }), oneOf('\n', '\r\n'), oneOf('', '\n', '\n\n# end', ' '))
    .map(([top, bodies, newline, end]) => {
      const names = bodies.map((_, index) => `ask${index}`);
      const tail = language === 'python' ? end : end.replace('# end', '// end');
      const text = `${top}${bodies.map((body, index) => body.replaceAll('NAME', names[index] ?? '')).join('\n')}${tail}`;
      return { fileName: { python: 'agent.py', typescript: 'agent.ts', javascript: 'agent.mjs', commonjs: 'agent.cjs' }[language], text: text.replaceAll('\n', newline), functions: names };
    });
}

function header(language: Language): fc.Arbitrary<string> {
  if (language === 'python') {
    return fc.tuple(
      oneOf('', '#!/usr/bin/env python\n', '# -*- coding: utf-8 -*-\n'),
      oneOf('', '"""Doc."""\n', "'''Doc\nof two lines.'''\n\n", '# a comment\n'),
      oneOf('', 'from __future__ import annotations\n'),
      oneOf('import openai\nfrom openai import OpenAI\n', 'import os, openai\nfrom openai import (\n    AsyncOpenAI,\n    OpenAI,  # both\n)\n', 'from openai import OpenAI as Client; import openai\nOpenAI = Client\n', 'import openai\nfrom openai import OpenAI\nfrom agent_trainer import operation\n', 'import openai\nfrom openai import OpenAI\nimport agent_trainer as at\n', 'import openai\ntry:\n    from openai import OpenAI\nexcept ImportError:\n    raise\nfrom .own import thing\n'),
      oneOf('client = OpenAI()\n', "client = OpenAI(\n    api_key='sk-1',\n)\n\n\n", 'client = OpenAI(base_url="http://localhost/v1", api_key=KEY)  # mine\n', 'rollout = 3\nclient = OpenAI()\n'),
    ).map((parts) => parts.join(''));
  }
  const imports = language === 'commonjs'
    ? oneOf("const { OpenAI } = require('openai');\n", 'const OpenAI = require("openai")\nconst fs = require("node:fs")\n', "const { OpenAI } = require('openai');\nconst { operation } = require('agent-trainer/runtime');\n", "const { OpenAI } = require('openai');\nconst trainer = require('agent-trainer/runtime');\n", "const {\n  OpenAI, // the client\n} = require('openai');\n")
    : oneOf("import OpenAI from 'openai';\n", 'import OpenAI from "openai"\nimport fs from "node:fs"\n', "import { OpenAI } from 'openai';\nimport { operation } from 'agent-trainer/runtime';\n", "import OpenAI from 'openai';\nimport * as trainer from 'agent-trainer/runtime';\n", "import OpenAI from 'openai';\nimport {\n  emitReward,\n  operation, // steps\n} from 'agent-trainer/runtime';\n");
  return fc.tuple(
    oneOf('', '#!/usr/bin/env node\n', "'use strict';\n", '// Licence\n\n', '/** The file. */\n\n'),
    imports,
    oneOf('const client = new OpenAI();\n', 'const client = new OpenAI({ apiKey: process.env.KEY })\n', 'const client = new OpenAI({\n  baseURL: "http://localhost/v1",\n});\n\n', 'const rollout = 3;\nconst client = new OpenAI({});\n'),
  ).map((parts) => parts.join(''));
}

function pythonFunction(): fc.Arbitrary<string> {
  const call = oneOf(
    'client.chat.completions.create(model="gpt-4o", messages=messages)',
    "client.chat.completions.create(\n        model='gpt-4o',  # large\n        messages=messages,\n    )",
    'openai.OpenAI(timeout=3).chat.completions.create(model=MODEL, messages=messages)',
    'openai.chat.completions.create(messages=messages)',
    'client.beta.chat.completions.parse(model="m", messages=messages, response_format=Answer)',
    'OpenAI(**options).chat.completions.create(**request)',
  );
  return fc.tuple(
    oneOf('', '\n\n# a comment\n', '@retry(3)\n', '@cached\n@traced\n'), oneOf('', 'async '),
    oneOf('()', '(task)', '(question: str)', '(task, /)', '(task, k=1)', '(task, *, k=1)', '(task, *rest)', '(task, **options)', '(task: dict, k: int = 1, **options)', '(\n    task,\n    k=2,\n)', '(\n    task,  # the task\n    k=2  # how many\n)', '(task, k=1, /)', '( task )'),
    oneOf(':', ' -> float:', ':  # why'), oneOf('', '    """Doc."""\n', "    '''Doc\n    of two lines.'''\n", '    # a comment\n'),
    oneOf('    messages = []\n', '    llm = 3\n', '    try:\n        pass\n    finally:\n        pass\n', '    def inner(x):\n        return x\n', ''), call,
  ).map(([above, asynchronous, parameters, arrow, doc, first, body]) => `${above}${asynchronous}def NAME${parameters}${arrow}\n${doc}${first}    reply = ${body}\n    return len(reply)\n`);
}

function scriptFunction(language: Language): fc.Arbitrary<string> {
  const typed = language === 'typescript';
  const isCommonJs = language === 'commonjs';
  const call = oneOf(
    "client.chat.completions.create({ model: 'gpt-4o', messages })",
    'client.chat.completions.create({\n    model: "gpt-4o", // large\n    messages,\n  })',
    'new OpenAI().chat.completions.create({ model, messages: [] })',
    'new OpenAI({ ...options }).chat.completions.create({ ...request })',
    'new OpenAI(options).chat.completions.create(request)',
    "fetch('https://api.openai.com/v1/chat/completions', { method: 'POST', headers: { Authorization: 'Bearer x' }, body: JSON.stringify({ model, messages }) })",
  );
  const parameters = typed ? oneOf('()', '(task)', '(task: Task)', '({ question }: { question: string })', '(task: Task = {})', '(\n  task: Task,\n)', '(\n  task: Task, // the task\n)') : oneOf('()', '(task)', '({ question })', '(task = {})', '( task )', '(\n  task\n)');
  const semicolon = oneOf(';', '');
  const type = typed ? oneOf('', ': Promise<number>') : oneOf('');
  const body = fc.tuple(oneOf('', '  // a comment\n', '  const llm = 3;\n', '  const inner = (x) => x;\n'), call, semicolon).map(([first, ask, end]) => `{\n${first}  const reply = await ${ask}${end}\n  return reply.choices.length${end}\n}`);
  const declaration = fc.tuple(oneOf('', '/** Asks. */\n', '// why\n'), isCommonJs ? oneOf('') : oneOf('', 'export '), parameters, type, body).map(([above, exported, given, returned, code]) => `${above}${exported}async function NAME${given}${returned} ${code}\n`);
  const arrow = fc.tuple(isCommonJs ? oneOf('const', 'let') : oneOf('const', 'export const', 'let'), parameters, type, body, semicolon).map(([keyword, given, returned, code, end]) => `${keyword} NAME = async ${given}${returned} => ${code}${end}\n`);
  const bare = fc.tuple(isCommonJs ? oneOf('const') : oneOf('const', 'export const'), call, semicolon).map(([keyword, ask, end]) => `${keyword} NAME = async task => (await ${ask}).choices.length${end}\n`);
  const expression = fc.tuple(parameters, body, semicolon).map(([given, code, end]) => `${isCommonJs ? 'exports.NAME' : 'export const NAME'} = async function${given} ${code}${end}\n`);
  return fc.oneof(declaration, arrow, bare, expression);
}
