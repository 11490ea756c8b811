import { statfsSync } from "node:fs";
import { defineConfig } from "vitest/config";

// Tests run from TypeScript source through the @heddle/source export condition; nothing is built first.
// "import" must not be in the list: node would take it for `require` in CommonJS packages as well.
const conditions = ["@heddle/source", "node"];

// The databases of the tests outlive processes, not machines: in memory, where there is room, no write waits for a disk.
if (freeBytes("/dev/shm") > 4e9) process.env["TMPDIR"] ??= "/dev/shm";

function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  // The global set-up runs in this environment.
  environments: { __vitest__: { resolve: { conditions } } },
  test: {
    include: ["spec/**/*.test.ts", "tools/**/*.test.ts", "packages/*/{src,test}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    globalSetup: ["tools/src/compile/global-setup.ts", "packages/embedded-clickhouse/test/global-setup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // Files share the modules of their process: none of them replaces a module or keeps state in one.
    isolate: false,
  },
});
