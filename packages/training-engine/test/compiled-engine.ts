import type * as engineModule from "../src/embedded/engine.js";
import type { EmbeddedEngineSettings } from "../src/embedded/engine.js";
import { compiledModule } from "./compiled.js";
import type { OpenEngine } from "./embedded-engine.js";
import { openEngine } from "./embedded-engine.js";

/** As {@link openEngine}, with compiled child processes. */
export async function openCompiledEngine(settings: Partial<EmbeddedEngineSettings> = {}): Promise<OpenEngine> {
  const { openEmbeddedEngine } = await compiledModule<typeof engineModule>("embedded/engine.js");
  return await openEngine(settings, openEmbeddedEngine);
}
