import { join } from "node:path";
import { defineConfig } from "vitest/config";

// The packages as their users get them: built, packed and installed. `pnpm packages` builds first.
export default defineConfig({
  test: {
    include: ["tools/src/packages/installed/*.test.ts"],
    globalSetup: [join(import.meta.dirname, "global-setup.ts")],
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
