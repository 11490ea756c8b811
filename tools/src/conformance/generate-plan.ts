import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isEntry } from "../entry.js";
import { banner, writeFiles } from "../generated-files.js";
import type { Files } from "../generated-files.js";
import { documentsIn } from "../model/documents.js";
import type { Model } from "../model/model.js";
import { readModel } from "../model/read-model.js";
import { planOf } from "./plan-of.js";
import { storiesOf } from "./story.js";

/** A module that exports `name`, and its declaration. */
function moduleFiles(name: string, type: string, value: unknown, source: string): Files {
  const head = banner(source);
  const named = type.replace("readonly ", "").replace("[]", "");
  return {
    [`${name}.js`]: `${head}export const ${name} = ${JSON.stringify(value, undefined, 1)};\n`,
    [`${name}.d.ts`]: `${head}import type { ${named} } from "../plan.js";\n\nexport declare const ${name}: ${type};\n`,
  };
}

/** What the conformance kit needs of one document. */
export function planFiles(model: Model): Files {
  return moduleFiles(model.name, "Plan", planOf(model), model.source);
}

/** Writes the plans of all bundled documents and the stories of a `spec` folder below `target`. */
export function generatePlans(spec: string, target: string): void {
  const dist = join(spec, "dist");
  for (const name of documentsIn(dist)) writeFiles(target, planFiles(readModel(join(dist, name))));
  const stories = join(spec, "stories");
  const workflows = readdirSync(stories)
    .filter((name) => name.endsWith(".arazzo.yaml"))
    .toSorted()
    .flatMap((name) =>
      storiesOf(readFileSync(join(stories, name), "utf8"), name, (path) => readFileSync(join(stories, path), "utf8")),
    );
  writeFiles(target, moduleFiles("stories", "readonly Story[]", workflows, "the stories"));
}

if (isEntry(import.meta.url)) generatePlans(process.argv[2] ?? "spec", process.argv[3] ?? "src/generated");
