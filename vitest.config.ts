import { statfsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// Tests run from TypeScript source through the @heddle/source export condition; nothing is built first.
// "import" must not be here: node would take it for `require` in CommonJS packages as well.
const conditions = ["@heddle/source", "node"];
const resolution = { resolve: { conditions }, ssr: { resolve: { conditions } } };

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

/** Tests that run onnxruntime. It changes how its thread rounds, which number formatting notices: no others share theirs. */
const withOnnxruntime = [
  "packages/embedded-engine/src/{decode,graph,processes,trainer}/**/*.test.ts",
  "packages/embedded-engine/src/*.test.ts",
  "packages/embedded-engine/src/weights/agreement-*.test.ts",
  "packages/embedded-engine/test/**/*.test.ts",
];
/**
 * Tests that start, kill, fill up or flood whole services, install packages, or train until a model has learned:
 * `pnpm test:all` has them.
 */
const deep = [
  "packages/embedded-engine/src/processes/{faults,warm-trainer}.test.ts",
  "packages/embedded-engine/test/learning.test.ts",
  "packages/service/test/{attacks,faults,integrations}/**/*.test.ts",
  "packages/service/test/{agent-tools,command-line,command-line-reading,one-writer,remote-backends,stories,terminal-guide}.test.ts",
  "packages/service/test/conformance/conformance.test.ts",
  "packages/service/test/hostile/{computing,values}.test.ts",
  "tools/src/dev/regenerate.test.ts",
  "tools/src/spec-diff/spec-diff.test.ts",
];
/** Tests in a real browser, which `pnpm test:all` has where one is installed (Debian: apt-get install chromium). */
const inBrowser = ["packages/service/test/console/**/*.test.ts"];
const others = ["**/node_modules/**", "**/dist/**", ...deep, ...inBrowser];
/**
 * What is polled for comes late on a busy machine; by default it would have a second. Before a change lands, a test that
 * fails is repeated once, and `.ci/run` names it even if it passes then: it waits for a state that does not last.
 */
const patience = {
  testTimeout: 30_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 15_000 } },
  retry: process.env["CI"] === "true" ? 1 : 0,
};

export default defineConfig({
  ...resolution,
  // The global set-up runs in this environment.
  environments: { __vitest__: { resolve: { conditions } } },
  test: {
    globalSetup: ["tools/src/compile/global-setup.ts", "packages/embedded-clickhouse/test/global-setup.ts"],
    // The engine of the run takes about as much of the processor as they do, and they wait for it and for time to pass.
    maxWorkers: Math.max(3, Math.floor(availableParallelism() / 2)),
    projects: [
      {
        ...resolution,
        test: {
          name: "packages",
          include: ["spec/**/*.test.ts", "tools/**/*.test.ts", "packages/*/{src,test}/**/*.test.ts"],
          exclude: [...others, "tools/src/packages/installed/**", ...withOnnxruntime],
          // Files share the modules of their process: none of them replaces a module or keeps state in one.
          isolate: false,
          ...patience,
        },
      },
      {
        ...resolution,
        test: { name: "onnxruntime", include: withOnnxruntime, exclude: others, isolate: false, ...patience },
      },
      { ...resolution, test: { name: "deep", include: deep, ...patience } },
      { ...resolution, test: { name: "console", include: inBrowser, ...patience, testTimeout: 120_000 } },
    ],
  },
});
