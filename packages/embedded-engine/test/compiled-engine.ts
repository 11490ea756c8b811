import type * as engineModule from "../src/engine.js";
import type { EmbeddedEngineSettings } from "../src/engine.js";
import { compiledModule } from "@heddle/threads/testing";
import type { OpenEngine } from "./embedded-engine.js";
import { openEngine } from "./embedded-engine.js";

/** As {@link openEngine}, with compiled child processes. */
export async function openCompiledEngine(settings: Partial<EmbeddedEngineSettings> = {}): Promise<OpenEngine> {
  const { openEmbeddedEngine } = await compiledModule<typeof engineModule>("embedded-engine", "engine.js");
  return await openEngine(settings, openEmbeddedEngine);
}
