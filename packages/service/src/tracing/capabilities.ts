import type { ServerInfoRes } from "@heddle/server-stub/tracing";
import { providerKinds } from "../config/provider-settings.js";
import type { Services } from "../services.js";

type Capability = NonNullable<ServerInfoRes["heddle"]>["capabilities"][number];

/** What works with the settings of the service. No server is called: the embedded engine always trains and samples. */
export function capabilitiesOf({ config, providers }: Services): Capability[] {
  const capabilities: Capability[] = ["training", "sampling"];
  if (providers.of("images").length > 0) capabilities.push("images");
  if (providerKinds.some((kind) => providers.of(kind).length > 0)) capabilities.push("providers");
  if (config.console) capabilities.push("console");
  return capabilities;
}
