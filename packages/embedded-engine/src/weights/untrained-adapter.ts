import { mainThread } from "@heddle/concurrency";
import type { LoraConfig } from "@heddle/training";
import { writeAdapter } from "./adapter.js";
import type { BaseModelSettings } from "./base-models.js";
import { describeBaseModel, exportName } from "./base-models.js";
import { initialAdapterSteps } from "./initial-weights.js";

/** Writes an adapter without effect in PEFT's layout, the same for every call, while other work of the thread goes on. */
export async function writeUntrainedAdapter(
  settings: BaseModelSettings,
  { baseModel, adapter, directory }: { baseModel: string; adapter: LoraConfig; directory: string },
): Promise<void> {
  const { config } = await describeBaseModel(settings, baseModel);
  const steps = initialAdapterSteps(config, adapter, 0);
  let step = steps.next();
  for (; !step.done; step = steps.next()) await mainThread.giveWay();
  const name = await exportName(settings, baseModel);
  await writeAdapter(directory, { config: adapter, set: step.value }, { model: config, baseModel: name });
}
