import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";

// Tests run from TypeScript source through the @heddle/source export condition; nothing is built first.
// "import" must not be in the list: node would take it for `require` in CommonJS packages as well.
const conditions = ["@heddle/source", "node"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  // The global set-up runs in this environment.
  environments: { __vitest__: { resolve: { conditions } } },
  test: {
    include: ["spec/**/*.test.ts", "tools/**/*.test.ts", "packages/*/{src,test}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    globalSetup: ["packages/embedded-clickhouse/test/global-setup.ts"].filter((file) => existsSync(file)),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
