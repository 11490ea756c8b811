import { join } from "node:path";
import { generateClient } from "../client/generate-client.js";
import { generatePlans } from "../conformance/generate-plan.js";
import type { Finding } from "../contract/finding.js";
import { generateContract } from "../contract/generate-contract.js";
import { generateTools } from "../mcp/generate-tools.js";
import { generateServerStub } from "../server-stub/generate-server-stub.js";
import type { CompiledChecks } from "../server-stub/validators.js";

/**
 * Writes everything that is generated from the spec of a repository, types first, and only the files that change. Returns
 * what prevents it. `compiled` keeps what the next time can use again.
 */
export async function regenerate(repository: string, compiled: CompiledChecks): Promise<Finding[]> {
  const spec = join(repository, "spec");
  const findings = await generateContract(spec);
  if (findings.length > 0) return findings;
  const generated = (name: string) => join(repository, "packages", name, "src/generated");
  generateClient(join(spec, "dist"), generated("client"));
  await generateServerStub(join(spec, "dist"), generated("server-stub"), compiled);
  generatePlans(spec, generated("conformance"));
  generateTools(join(spec, "dist"), generated("service"));
  return [];
}
