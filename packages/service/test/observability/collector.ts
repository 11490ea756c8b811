import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { decodeTraces, runSteps, scanTraces } from "@heddle/trace-model";
import type { Span } from "@heddle/trace-model";

/** What a span says, its attributes by name. */
interface ReceivedSpan extends Pick<Span, "name" | "kind" | "trace_id" | "span_id" | "parent_span_id"> {
  status: number;
  attributes: Record<string, string>;
}

/** An OTLP receiver on this machine. */
export async function startCollector() {
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const resources: Record<string, string>[] = [];
  const spans: ReceivedSpan[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    requests.push({ path: request.url ?? "", headers: request.headers });
    const bytes = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    const traces = runSteps(decodeTraces(scanTraces(bytes, request.headers["content-type"] ?? "")));
    for (const { attributes, scopes } of traces.resources) {
      resources.push(named(attributes));
      for (const span of scopes.flatMap((scope) => scope.spans)) {
        const { name, kind, trace_id, span_id, parent_span_id, status } = span;
        const about = { name, kind, trace_id, span_id, parent_span_id, status: status.code };
        spans.push({ ...about, attributes: named(span.attributes) });
      }
    }
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  };
  const server = createServer((request, response) => void receive(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    resources,
    spans,
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function named({ shape, values }: Span["attributes"]): Record<string, string> {
  const keys: string[] = [];
  for (let last = shape; last.before !== undefined; last = last.before) keys.unshift(last.key);
  const texts = values.map((value) => (typeof value === "string" ? value : value.json));
  return Object.fromEntries(keys.map((key, index) => [key, texts[index] ?? ""]));
}
