import type { TinkerApi } from "./api.js";
import { acceptedBody } from "./api.js";
import { isUnknownRoute } from "./dialect.js";

/**
 * Has the server drop a model. Where single models cannot be dropped, its session ends, and with it what it has; a server
 * that knows neither drops it when the heartbeats end.
 */
export async function unloadModel(
  api: TinkerApi,
  { modelId, sessionId }: { modelId: string; sessionId: string },
  signal?: AbortSignal,
): Promise<void> {
  const options = { repeatable: true, signal };
  const response = await api.request("unload_model", { model_id: modelId, type: "unload_model" }, options);
  if (isUnknownRoute(response)) {
    await api.request(`sessions/${sessionId}/finish`, { reason: { type: "success" }, detail: null }, options);
    return;
  }
  await api.result(acceptedBody("unload_model", response)["request_id"], { signal });
}
