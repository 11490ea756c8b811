import { HeddleError, withLoc } from "@heddle/errors";
import { rawJson } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { newId } from "@heddle/trace-model";
import { storeContent } from "../ingest/content-object.js";
import { generateImages } from "../providers/generate-images.js";
import type { GeneratedImages } from "../providers/generate-images.js";
import type { Caller, Services } from "../services.js";

const opName = "weave.image_generation_create";

export function imageHandlers(services: Services): TracingHandlers<Caller>["images"] {
  const { providers, store } = services;

  return {
    async imageCreate({ body, signal }, caller) {
      const { project_id, inputs } = body;
      const { provider, model } = withLoc(["inputs"], () => providers.forModel("images", inputs.model));
      const startedAt = nowUs();
      const request = { model, prompt: inputs.prompt, ...(inputs.n !== undefined && { n: inputs.n }) };
      const response = await generateImages(provider, request, signal).then(
        async (generated) => storedResponse(services, project_id, inputs.model, generated),
        (error: unknown) => ({ error: `${provider.name}: ${providerError(error)}` }),
      );
      const output = JSON.stringify(response);
      if (!body.track_llm_call) return { response: rawJson(output), weave_call_id: null };

      const id = newId();
      const start = {
        project_id,
        id,
        trace_id: newId(),
        op_name: opName,
        started_at: startedAt,
        attributes: "{}",
        inputs: JSON.stringify({ ...request, model: inputs.model }),
        wb_user_id: caller.user_id,
      };
      const summary = JSON.stringify({ usage: { [inputs.model]: usageOf(response) } });
      const end = { project_id, id, ended_at: nowUs(), output, summary, exception: exceptionOf(response) };
      const [rejected] = await store.ingest([{ part: "complete", start, end }]);
      if (rejected !== undefined) throw new HeddleError("unprocessable", rejected.message, { loc: ["inputs"] });
      return { response: rawJson(output), weave_call_id: id };
    },
  };
}

type ImageResponse = Record<string, unknown>;

/** The response with each image replaced by the content object under which it is stored. */
async function storedResponse(
  services: Services,
  projectId: string,
  model: string,
  { response, images, error }: GeneratedImages,
): Promise<ImageResponse> {
  const data = response["data"] as Record<string, unknown>[];
  for (const { index, member, bytes, media_type } of images) {
    const filename = `image-${index}.${media_type.slice("image/".length)}`;
    const extra = { source_index: index, _original_schema: member };
    const content = await storeContent(services, projectId, { bytes, media_type, filename, extra });
    data[index] = { ...data[index], [member]: content };
  }
  return { ...response, model, ...(error !== undefined && { error }) };
}

/** What is wrong at the provider is part of the response; any other error is one of this service. */
function providerError(error: unknown): string {
  if (error instanceof HeddleError) return error.message;
  throw error;
}

function exceptionOf({ error }: ImageResponse): string | undefined {
  if (error === undefined || error === null) return undefined;
  return typeof error === "string" ? error : JSON.stringify(error);
}

/** The tokens that the provider counted; a request that failed counts none. */
function usageOf({ usage, data }: ImageResponse): ImageResponse {
  const counted = typeof usage === "object" && usage !== null && !Array.isArray(usage) ? usage : {};
  return { ...counted, requests: data === undefined ? 0 : 1 };
}

const nowUs = (): bigint => BigInt(Date.now()) * 1000n;
