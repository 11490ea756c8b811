import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import MiniSearch from "minisearch";
import { buildDocs, createCodeHighlighter } from "@heddle/tools/docs";
import type { Highlighter } from "@heddle/tools/docs";
import { parseModel } from "@heddle/tools/model";
import { matchingLine } from "@heddle/tools/search-line";
import { searchEntries } from "@heddle/tools/search-query";
import { searchOptions } from "@heddle/tools/search-terms";
import type { SearchEntry } from "@heddle/tools/search-terms";
import { contentSecurityPolicy } from "../src/index.js";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const spec = join(repository, "spec/dist");
const models = ["tracing", "training"].map((name) =>
  parseModel(JSON.parse(readFileSync(join(spec, `${name}.json`), "utf8")), `${name}.json`),
);
const output = mkdtempSync(join(tmpdir(), "heddle-docs-"));
const texts = new Map<string, string>();
let files: string[] = [];
let pages: string[] = [];
let highlighter: Highlighter;
const options = {
  contract: join(repository, "spec"),
  docs: join(repository, "packages/docs"),
  policy: contentSecurityPolicy,
};

beforeAll(async () => {
  highlighter = await createCodeHighlighter();
  await buildDocs({ ...options, spec, output, highlighter });
  files = readdirSync(output, { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
  pages = files.filter((name) => name.endsWith(".html"));
}, 180_000);

afterAll(() => rmSync(output, { recursive: true }));

function read(name: string): string {
  const text = texts.get(name) ?? readFileSync(join(output, name), "utf8");
  texts.set(name, text);
  return text;
}

const kebab = (id: string) => id.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "-").toLowerCase();

test("each operation has a page and its Markdown, with path, samples, form and errors", () => {
  for (const { name, operations } of models) {
    for (const { id, method, path, public: isPublic } of operations) {
      const markdown = read(`${name}/${kebab(id)}.md`);
      expect(markdown, id).toContain(`\`${method.toUpperCase()} ${path}\``);
      expect(markdown, id).toMatch(/```sh curl[^]*```ts TypeScript[^]*```python Python/);
      if (!isPublic) expect(markdown, id).toMatch(/\(errors\.md#401-\w+\)/);
      const html = read(`${name}/${kebab(id)}.html`);
      expect(html, id).toContain(`data-method="${method.toUpperCase()}" data-path="${path}"`);
    }
  }
});

describe("links", () => {
  test("all lead to a file, and to a place in it; none depends on where the site is", () => {
    const broken: string[] = [];
    for (const page of pages) {
      for (const [, href = ""] of read(page).matchAll(/(?:href|src|data-source|data-index)="([^"]*)"/g)) {
        if (/^(?:https?|mailto):/.test(href)) continue;
        const [file = "", anchor] = href.split("#");
        const target = file === "" ? page : posix.join(dirname(page), file);
        if (href.startsWith("/") || target.startsWith("..") || !files.includes(target))
          broken.push(`${page} → ${href}`);
        else if (anchor && !read(target).includes(`id="${anchor}"`)) broken.push(`${page} → ${href}`);
      }
    }
    expect(broken).toEqual([]);
  });

  test("of the Markdown lead to Markdown and other files of the site", () => {
    const broken: string[] = [];
    for (const page of files.filter((name) => name.endsWith(".md") || name === "llms.txt")) {
      const text = read(page)
        .replaceAll(/^(`{3,})[^]*?^\1/gm, "")
        .replaceAll(/`[^`\n]*`/g, "");
      for (const [, href = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^(?:https?|mailto):|^#/.test(href)) continue;
        if (!files.includes(posix.join(dirname(page), href.split("#")[0]!))) broken.push(`${page} → ${href}`);
      }
    }
    expect(broken).toEqual([]);
  });
});

describe("pages", () => {
  test("have nothing inline and load nothing from other hosts", () => {
    for (const page of pages) {
      const tags = read(page).match(/<[a-z](?:"[^"]*"|[^>"])*>/g) ?? [];
      expect(read(page), page).toContain(
        `http-equiv="Content-Security-Policy" content="${contentSecurityPolicy.replaceAll('"', "&quot;")}"`,
      );
      const isWrong = (tag: string) =>
        /^<style|\sstyle=|\son\w+=/.test(tag.replaceAll(/"[^"]*"/g, "")) ||
        (/^<(?:script|img|iframe|link|source|video)\b/.test(tag) && /="(?:https?:)?\/\//.test(tag)) ||
        (tag.startsWith("<script") && !tag.includes(' src="'));
      expect(tags.filter(isWrong), page).toEqual([]);
    }
    for (const asset of files.filter((name) => /\.(?:css|js)$/.test(name))) {
      expect(read(asset), asset).not.toMatch(/url\(["']?https?:|@import/);
    }
  });

  test("are small", () => {
    const compressed = (name: string) => statSync(join(output, `${name}.gz`)).size;
    const heavy = pages.filter((page) => page !== "changelog.html" && compressed(page) > 20_000);
    expect(heavy).toEqual([]);
    const operations = pages.filter((page) => files.includes(page.replace(".html", ".md")) && /^tra\w+\//.test(page));
    const sizes = operations.map(compressed).toSorted((a, b) => a - b);
    expect(sizes[Math.floor(sizes.length / 2)]).toBeLessThan(9_000);
    const asset = (name: string) =>
      compressed(files.find((file) => new RegExp(`^assets.${name}\\.\\w+\\.\\w+$`).test(file))!);
    expect(asset("page")).toBeLessThan(14_000);
    expect(asset("style")).toBeLessThan(5_000);
    expect(compressed("search-index.json")).toBeLessThan(320_000);
  });

  test("lie compressed next to themselves, when they are large enough", () => {
    for (const page of pages) {
      if (read(page).length < 1024) continue;
      expect(gunzipSync(readFileSync(join(output, `${page}.gz`))).toString("utf8"), page).toBe(read(page));
      expect(files, page).toContain(`${page}.br`);
    }
  });

  test("name the next and the previous page", () => {
    const html = read("tracing/call-read.html");
    expect(html).toMatch(/<a rel="prev" href="call-end\.html">/);
    expect(html).toMatch(/<a rel="next" href="call-start\.html">/);
  });
});

test("the first page has install, six lines of code, four groups with their guides, and the loop", () => {
  const page = read("index.html");
  const [, groups = ""] = /<div class="groups">([^]*?)<\/div>/.exec(page) ?? [];
  expect([...groups.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, title]) => title)).toEqual([
    "Trace",
    "Evaluate",
    "Train",
    "Operate",
  ]);
  expect(groups).toMatch(/href="guides\/train-with-rewards.html">Train with rewards \(RL\)</);
  const [, code = ""] = /data-title="TypeScript"[^]*?<code>([^]*?)<\/code>/.exec(page) ?? [];
  expect(code.trim().split("\n")).toHaveLength(6);
  expect(page.indexOf("packages/client.tgz")).toBeLessThan(page.indexOf('<div class="groups">'));
  expect(page).toMatch(/<svg[^>]* role="img" aria-label="Calls are judged/);
});

test("an operation has its method before the title, in the menu and before its path", () => {
  const html = read("tracing/call-read.html");
  expect(html).toContain('<h1><span class="badge post">POST</span> Read a call</h1>');
  expect(html).toContain('<code class="request"><span class="badge post">POST</span> <span>/call/read</span></code>');
  expect(html).toMatch(/href="call-start.html">Start a call <span class="badge post">/);
});

test("every address of the page for lost readers begins with ./, so that it works at any depth", () => {
  const addresses = [...read("404.html").matchAll(/(?:href|src|data-root|data-index)="([^"]*)"/g)].map(([, to]) => to);
  expect(addresses.length).toBeGreaterThan(10);
  expect(addresses.filter((to) => !to!.startsWith("./") && to !== "#main")).toEqual([]);
});

test("guides of one subject are a group of the menu; groups that are not about one thing are not on the first page", () => {
  const page = read("guides/integrations/openai.html");
  expect(page).toMatch(/<details open><summary>Integrations<\/summary>[^]*?href="litellm.html"/);
  expect(page).toContain('href="../opentelemetry.html"');
  expect(read("guides/opentelemetry.html")).toContain('href="integrations/openai.html"');
  expect(read("index.html")).toContain('href="guides/integrations/index.html"');
  expect(read("index.html")).not.toContain('href="guides/integrations/openai.html"');
});

test("operations have their samples and the form in a part that stands beside the others", () => {
  const html = read("tracing/call-start.html");
  const [, beside = ""] = /<div class="beside">([^]*?)<\/div>\n<div class="below">/.exec(html) ?? [];
  expect(beside).toContain('<h2 id="code-samples">');
  expect(beside).toContain('class="try"');
  expect(html.indexOf('<div class="above">')).toBeLessThan(html.indexOf("<h1>"));
  expect(html.indexOf('<div class="below">')).toBeLessThan(html.indexOf('<h2 id="parameters">'));
});

test("the table of operations is as wide as the window, and its filter is hidden until a script shows it", () => {
  const html = read("operations.html");
  expect(html).toContain('class="columns wide"');
  expect(html).toMatch(/<p class="filter" hidden>[^]*<h2 /);
  expect(read("guides/threads.html")).toContain('class="columns"');
});

test("each concept is explained with a figure, which its Markdown shows as a file", () => {
  const pages = files.filter((file) => /^guides\/concepts\/[^/]+\.md$/.test(file));
  expect(pages.length).toBe(5);
  for (const page of pages) {
    expect(read(page.replace(/md$/, "html"))).toMatch(/<span class="figure"[^>]*><svg [^>]*aria-label="[^"]{40}/);
    const [, figure = ""] = /!\[[^\]]+\]\((\S+\.svg)\)/.exec(read(page)) ?? [];
    const file = read(posix.join(posix.dirname(page), figure));
    expect(file).toContain('xmlns="http://www.w3.org/2000/svg"');
    expect(file).not.toContain("var(");
  }
});

test("the guides of the console show pictures, which tests have made, and every one of them is shown", () => {
  const stored = readdirSync(join(options.docs, "guides/pictures"));
  expect(stored.length).toBeGreaterThan(5);
  expect(files.filter((file) => file.endsWith(".webp")).toSorted()).toEqual(
    stored.map((name) => `guides/pictures/${name}`).toSorted(),
  );
  for (const name of stored) {
    const picture = readFileSync(join(output, "guides/pictures", name));
    expect(picture.equals(readFileSync(join(options.docs, "guides/pictures", name))), name).toBe(true);
    expect(picture.length, name).toBeLessThan(80_000);
  }
  for (const guide of ["annotate", "evaluate", "training", "threads"])
    expect(read(`guides/console-${guide}.html`)).toMatch(/<img src="pictures\/\w+\.webp" width="1200" height="750"/);
  expect(read("index.html")).toContain('src="guides/pictures/trace.webp"');
  expect(readFileSync(join(repository, "README.md"), "utf8")).toMatch(
    /!\[[^\]]+\]\(packages\/docs\/guides\/pictures\/trace\.webp\)/,
  );
});

test("the overview of the integrations links each", () => {
  const overview = read("guides/integrations/index.md");
  const names = files.filter((file) => /^guides\/integrations\/.*\.md$/.test(file)).map((file) => posix.basename(file));
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) if (name !== "index.md") expect(overview).toContain(`](${name})`);
});

describe("search", () => {
  let index: MiniSearch<SearchEntry>;
  beforeAll(() => {
    index = MiniSearch.loadJSON<SearchEntry>(read("search-index.json"), searchOptions);
  });
  const top = (text: string, count = 1) =>
    searchEntries(index, text)
      .slice(0, count)
      .map(({ href }) => href);

  test.each(models.flatMap(({ name, operations }) => operations.map(({ id }) => [id, `${name}/${kebab(id)}.html`])))(
    "finds %s first",
    (id, page) => {
      expect(top(id)).toEqual([page]);
    },
  );

  test.each([
    ["refs read batch", "tracing/refs-read-batch.html"],
    ["/calls/stream_query", "tracing/calls-query-stream.html"],
    ["stream_query", "tracing/calls-query-stream.html"],
    ["wb_run_step_end", "tracing/"],
    ["trace_roots_only", "tracing/"],
    ["pages of the origin", "guides/"],
    ["learning_rate", "training/"],
    ["HEDDLE_CLICKHOUSE_URL", "guides/settings.html"],
    ["calstart", "tracing/call-start"],
  ])("finds %s", (text, page) => {
    expect(top(text, 3).map((href) => href.slice(0, page.length))).toContain(page);
  });

  test.each([
    ["pagination", "guides/streaming-and-pages.html"],
    ["cursor", "guides/streaming-and-pages.html"],
    ["webhook", "guides/webhooks.html"],
    ["rate limit", "guides/errors-and-retries.html"],
    ["retry", "guides/errors-and-retries.html"],
    ["fine-tune", "guides/train-with-examples.html"],
    ["finetuning", "guides/train-with-examples.html"],
    ["SFT", "guides/train-with-examples.html"],
    ["GRPO", "guides/train-with-rewards.html"],
    ["reinforcement learning", "guides/train-with-rewards.html"],
    ["SDK", "guides/weave-sdks.html"],
    ["otel", "guides/opentelemetry.html"],
    ["opentelemetry", "guides/opentelemetry.html"],
    ["langchain", "guides/integrations/langchain-"],
    ["install", "guides/getting-started.html"],
    ["quickstart", "guides/getting-started.html"],
    ["docker", "guides/deploying.html"],
    ["environment variables", "guides/settings.html"],
    ["backup", "guides/operating.html"],
    ["metrics", "guides/operating.html"],
    ["pricing", "guides/costs.html"],
    ["cost", "guides/costs.html"],
    ["conversation", "guides/threads.html"],
    ["parquet", "guides/exports.html"],
    ["feedback", "guides/feedback.html"],
    ["thumbs up", "guides/learn-from-thumbs.html"],
    ["llm judge", "guides/scorers.html"],
    ["evals", "guides/evaluate-a-model.html"],
    ["labeling", "guides/annotation-queues.html"],
    ["inference", "guides/chat-completions.html"],
    ["share a trace", "guides/shares.html"],
    ["start a call", "tracing/call-start.html"],
  ])("answers %s with the page about it", (text, page) => {
    expect(top(text, 1)[0]!.slice(0, page.length), JSON.stringify(top(text, 5))).toBe(page);
  });

  test("lists a guide first and no changelog among the first three for a word that many pages have", () => {
    const kinds = searchEntries(index, "webhook").map(({ kind }) => kind);
    expect(kinds[0]).toBe("guide");
    expect(kinds.slice(0, 3)).not.toContain("changelog");
  });

  test.each(["webhook signature", "retention", "cached tokens", "reward", "HEDDLE_CLICKHOUSE_URL"])(
    "shows lines of the pages that it finds for %s, with marks",
    (text) => {
      const found = searchEntries(index, text).slice(0, 5);
      const lines = found.map(({ href, heading, terms }) =>
        matchingLine(read(href.replace(/\.html(?:#.*)?$/, ".md")), heading, terms),
      );
      expect(lines).not.toContain(undefined);
      expect(lines.flatMap((line) => line!.marks)).not.toEqual([]);
    },
  );

  test("finds the texts of error responses", () => {
    expect(top("The database is restarting or overloaded", 2)).toContain("tracing/errors.html#503-unavailable");
  });

  test("finds nothing for what is not there, and for no words", () => {
    expect(searchEntries(index, "zzzyqwx")).toEqual([]);
    expect(searchEntries(index, " - ")).toEqual([]);
  });
});

test("programs find every page and both documents in llms.txt", () => {
  const text = read("llms.txt");
  for (const { name, operations } of models) {
    expect(read(`openapi/${name}.json`)).toBe(readFileSync(join(spec, `${name}.json`), "utf8"));
    expect(read(`openapi/${name}.yaml`)).toMatch(/^openapi: 3\.1/);
    for (const { id } of operations) expect(text).toContain(`[\`${id}\`](${name}/${kebab(id)}.md)`);
  }
  for (const page of ["guides/getting-started", "tracing/types", "tracing/errors", "training/errors", "changelog"])
    expect(text).toContain(`(${page}.md)`);
});

test("a changed field is on its page and can be found after the next build, and other pages stay as they are", async () => {
  const changed = join(output, "changed");
  onTestFinished(() => rmSync(changed, { recursive: true }));
  mkdirSync(join(changed, "spec"), { recursive: true });
  for (const { name } of models) {
    const text = readFileSync(join(spec, `${name}.json`), "utf8");
    writeFileSync(join(changed, `spec/${name}.json`), text.replaceAll('"display_name":', '"shown_name":'));
  }
  const site = join(changed, "site");
  await buildDocs({ ...options, spec: join(changed, "spec"), output: site, highlighter });
  expect(read("tracing/types.html")).not.toContain("shown_name");
  expect(readFileSync(join(site, "tracing/types.html"), "utf8")).toContain("shown_name");
  expect(readFileSync(join(site, "search-index.json"), "utf8")).toContain("shown_name");
  expect(readFileSync(join(site, "tracing/cost-query.html"), "utf8")).toBe(read("tracing/cost-query.html"));
}, 120_000);
