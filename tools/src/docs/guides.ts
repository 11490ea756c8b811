import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { plainText } from "./page/markdown-text.js";
import { readPicture } from "./pictures.js";
import type { Picture } from "./pictures.js";

interface Guide {
  /** Path of the file below `guides/`, without extension; its address on the site. */
  name: string;
  title: string;
  /** The first paragraph, for lists of guides. */
  description: string;
  /** Markdown with the examples it refers to inlined. */
  markdown: string;
  /** SVG by the address that an image of the text has. */
  figures: Record<string, string>;
  /** Of screens, by the address that an image of the text has. */
  pictures: Record<string, Picture>;
}

/** Guides of one subject, under a title of their own in the menu. */
export interface GuideGroup {
  title: string;
  /** One sentence. Groups that have it are on the first page. */
  about?: string;
  guides: Guide[];
}

/** What guides install: every service serves the client of its version. */
const servedClient = "http://127.0.0.1:4680/packages/client.tgz";

/**
 * Reads the guides below `guides/` in the groups and order of `guides/order.json`, which has to name each of them. With `published`, they
 * install the client from the registry of npm.
 */
export function readGuides(docs: string, published: boolean): GuideGroup[] {
  const directory = join(docs, "guides");
  const order = JSON.parse(readFileSync(join(directory, "order.json"), "utf8")) as GroupOrder[];
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"));
  const named = new Set(order.flatMap(({ guides }) => guides));
  const forgotten = files.filter((file) => !named.has(file.slice(0, -3)));
  if (forgotten.length > 0) throw new Error(`guides/order.json does not name ${forgotten.join(", ")}`);
  const guide = (name: string) => parseGuide(name, join(directory, `${name}.md`), published);
  return order.map(({ guides, ...group }) => ({ ...group, guides: guides.map((name) => guide(name)) }));
}

interface GroupOrder {
  title: string;
  about?: string;
  guides: string[];
}

/** Text that installs the client from the service, or with `published` from the registry of npm. */
export function withInstall(text: string, published: boolean): string {
  return published ? text.replaceAll(servedClient, "@heddle/client") : text;
}

function parseGuide(name: string, file: string, published: boolean): Guide {
  const text = inlineExamples(readFileSync(file, "utf8"), dirname(file));
  const markdown = withInstall(text, published);
  const [, title, description] = /^# (.+)\n\n([^\n#|-][^]*?)\n\n/.exec(markdown) ?? [];
  if (!title || !description) throw new Error(`guides/${name}.md: begin with a # title and one paragraph`);
  return {
    name,
    title,
    description: plainText(description),
    markdown,
    figures: figuresOf(markdown, dirname(file)),
    pictures: picturesOf(name, markdown, dirname(file)),
  };
}

/** The drawings that a guide shows. */
function figuresOf(markdown: string, directory: string): Record<string, string> {
  const addresses = [...markdown.matchAll(/!\[[^\]]*\]\(([^()]+\.svg)\)/g)].map(([, address = ""]) => address);
  return Object.fromEntries(
    addresses.map((address) => [address, readFileSync(join(directory, address), "utf8").trim()]),
  );
}

/** The pictures that a guide shows. */
function picturesOf(name: string, markdown: string, directory: string): Record<string, Picture> {
  const addresses = [...markdown.matchAll(/!\[[^\]]*\]\(([^()]+\.webp)\)/g)].map(([, address = ""]) => address);
  return Object.fromEntries(
    addresses.map((address) => {
      const file = join(directory, address);
      if (!existsSync(file)) throw new Error(`guides/${name}.md shows ${address}, which does not exist: pnpm pictures`);
      return [address, readPicture(file)];
    }),
  );
}

/** The files of the pictures that guides show, by their path below the root of the site. */
export function pictureFiles(groups: readonly GuideGroup[]): Record<string, Uint8Array> {
  const guides = groups.flatMap((group) => group.guides);
  return Object.fromEntries(
    guides.flatMap(({ name, pictures }) =>
      Object.entries(pictures).map(([address, { bytes }]) => [
        posix.join("guides", posix.dirname(name), address),
        bytes,
      ]),
    ),
  );
}

/** A fence that names a file (` ```ts file=../examples/x.ts `) is replaced by that file, which is also compiled or run. */
function inlineExamples(markdown: string, directory: string): string {
  return markdown.replace(/^```(\w+) file=(\S+)\n```$/gm, (_, language: string, file: string) => {
    return `\`\`\`${language}\n${readFileSync(join(directory, file), "utf8").trimEnd()}\n\`\`\``;
  });
}
