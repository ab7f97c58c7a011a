import boundaries from 'eslint-plugin-boundaries';
import tseslint from 'typescript-eslint';

/** Which folders a folder may import. Data flows one way; see docs/architecture.md. */
const allowed = {
  protocol: [],
  source: ['protocol'],
  prompts: ['protocol', 'source'],
  store: ['protocol'],
  datasets: ['protocol'],
  gateway: ['protocol', 'store'],
  runner: ['protocol', 'store'],
  adapter: ['protocol', 'store'],
  engine: ['protocol'],
  grammar: ['protocol'],
  models: ['protocol', 'engine'],
  export: ['protocol', 'engine', 'models'],
  policy: ['protocol', 'engine', 'models', 'grammar'],
  evaluation: ['protocol'],
  algorithms: ['protocol', 'store', 'datasets', 'gateway', 'runner', 'adapter', 'policy', 'evaluation'],
  optimize: ['protocol', 'store', 'datasets', 'adapter', 'evaluation', 'prompts', 'algorithms'],
  runs: ['protocol', 'store', 'datasets', 'gateway', 'runner', 'adapter', 'policy', 'evaluation', 'prompts', 'algorithms', 'optimize'],
  server: ['protocol', 'store', 'gateway', 'runs'],
  cli: ['protocol', 'store', 'datasets', 'evaluation', 'prompts', 'policy', 'export', 'runs', 'server'],
};

const folders = Object.keys(allowed);

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'test/out/**', '**/*.mjs', '**/.agent-trainer/**'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
    },
  },
  {
    files: ['trainer/**/*.ts', 'src/**/*.ts', 'webview/**/*.ts'],
    plugins: { boundaries },
    settings: {
      'import/resolver': { node: { extensions: ['.ts', '.js', '.mjs'] } },
      'boundaries/elements': [
        ...folders.map((type) => ({ type, pattern: `trainer/${type}` })),
        { type: 'extension', pattern: 'src' },
        { type: 'webview', pattern: 'webview' },
      ],
    },
    rules: {
      'boundaries/dependencies': ['error', {
        default: 'disallow',
        policies: Object.entries({ ...allowed, extension: ['protocol', 'source', 'prompts'], webview: ['protocol'] }).map(([from, to]) => ({
          from: { element: { type: from } },
          allow: [{ to: { element: { type: [from, ...to] } } }],
        })),
      }],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: { '@typescript-eslint/no-unsafe-assignment': 'off', '@typescript-eslint/no-unsafe-member-access': 'off', '@typescript-eslint/no-unused-expressions': 'off' },
  },
);
