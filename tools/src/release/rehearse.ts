/**
 * Rehearses a release in a clone of HEAD, and leaves nothing behind: the versions that wait, everything built, packed and
 * offered to the registry (`--dry-run`, so that nothing is sent); then a breaking change, which is refused until a
 * changeset says so, and its release. About ten minutes.
 *
 *   pnpm release:rehearse
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { publicPackages, readManifest } from "../packages/manifests.js";

const directory = mkdtempSync(join(tmpdir(), "heddle-release-"));
const clone = join(directory, "heddle");
const env = { ...process.env, CI: "true" };

/** Runs a command in the clone; its output, or an error that has it. */
function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: clone, env, encoding: "utf8", maxBuffer: 1e8 });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}

const pnpm = (...args: string[]) => run("pnpm", ...args);
const commit = (subject: string) => {
  run("git", "add", "--all");
  run("git", "-c", "user.name=release", "-c", "user.email=release@localhost", "commit", "--quiet", "-m", subject);
};
const step = <T>(name: string, work: () => T): T => {
  const begun = performance.now();
  const result = work();
  console.log(`ok  ${name} (${((performance.now() - begun) / 1000).toFixed(0)} s)`);
  return result;
};
function must(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}
const specVersion = () => readManifest(join(clone, "spec")).version;

/** Edits one file of the clone, everywhere; what is replaced must be there. */
function edit(path: string, from: string, to: string): void {
  const text = readFileSync(join(clone, path), "utf8");
  must(text.includes(from), `${path} has no ${from}`);
  writeFileSync(join(clone, path), text.replaceAll(from, to));
}

/** Versions of what waits, as a commit with the tag that later changes are compared with. */
function version(): string {
  pnpm("release:version");
  commit("Version packages");
  run("git", "tag", `@heddle/spec@${specVersion()}`);
  return specVersion();
}

/** Builds everything and offers each public package to the registry without sending it. */
function offer(): string[] {
  pnpm("build");
  const manifests = publicPackages(clone).map(({ manifest }) => manifest);
  const packages = manifests.map(({ name, version: present }) => `${name}@${present}`);
  const filters = manifests.flatMap(({ name }) => ["--filter", name]);
  // Provenance can only be had in CI of the public repository.
  const published = pnpm(
    "--recursive",
    ...filters,
    "publish",
    "--dry-run",
    "--no-git-checks",
    "--no-provenance",
    "--json",
  );
  for (const name of packages)
    must(published.includes(name), `${name} is not among what would be published:\n${published}`);
  return packages;
}

try {
  execFileSync("git", ["clone", "--quiet", "--local", resolve("."), clone]);
  step("installs what the lockfile names", () => pnpm("install", "--frozen-lockfile", "--prefer-offline"));
  step("refuses to publish without a public repository", () => {
    const { status } = spawnSync("pnpm", ["run", "metadata", "--publishable"], { cwd: clone, env });
    must(status !== 0, "the reserved address of the repository was accepted");
    edit("package.json", "git.example.org", "git.heddle.invalid");
    pnpm("run", "metadata", "--publishable");
    pnpm("run", "metadata");
    pnpm("format");
    commit("Name the repository");
  });
  const first = step("writes versions and changelogs", version);
  const packages = step("builds and offers every package", offer);
  console.log(`    ${packages.join(" ")}`);

  step("refuses a breaking change without a changeset that says so", () => {
    edit("spec/tracing/schemas/table.yaml", "maxItems: 10000", "maxItems: 5000");
    const { status, stdout } = spawnSync("pnpm", ["spec:diff"], { cwd: clone, env, encoding: "utf8" });
    must(status !== 0 && stdout.includes("major"), `spec:diff let it pass:\n${stdout}`);
  });
  step("takes it with one", () => {
    const note = '---\n"@heddle/spec": major\n---\n\nTables take 5,000 updates in one request instead of 10,000.\n';
    writeFileSync(join(clone, ".changeset/fewer-updates.md"), note);
    pnpm("spec:diff");
    commit("Take fewer updates of a table in one request");
  });
  const second = step("writes the next versions", version);
  must(Number.parseInt(second, 10) === Number.parseInt(first, 10) + 1, `${first} was followed by ${second}`);
  const changelog = readFileSync(join(clone, "spec/CHANGELOG.md"), "utf8");
  must(
    changelog.includes(`## ${second}\n\n### Major Changes\n\n- Tables take 5,000`),
    `spec/CHANGELOG.md:\n${changelog}`,
  );
  step("builds and offers every package again", offer);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
