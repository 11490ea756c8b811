import type { ServerResponse } from "node:http";
import { json, startUpstream } from "../upstream.js";
import type { Received } from "../upstream.js";

interface Message {
  role?: string;
  type?: string;
  content?: unknown;
}

interface ModelRequest {
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  messages?: Message[];
  /** Of the API of responses. */
  input?: string | Message[];
}

/** What the model makes of a request; a stream has the text in two pieces. */
type Reply = { tool: { name: string; arguments: string } } | { text: [string, string] };

const model = "gpt-4o-mini-2024-07-18";
const created = 1775811600;

/** Tokens that responses reported. */
interface Served {
  requests: number;
  input: number;
  output: number;
  cached: number;
}

/**
 * A model that is asked about the weather: it calls the tool `get_weather` for a question about it, reports what the tool
 * returned, and responds to anything else with advice. Chat completions and responses of OpenAI, whole and streamed.
 */
export async function startModelServer() {
  const served: Served = { requests: 0, input: 0, output: 0, cached: 0 };
  const respond = (write: Writer) => (response: ServerResponse, received: Received) => {
    const request = JSON.parse(received.body) as ModelRequest;
    const items = request.messages ?? (typeof request.input === "string" ? [{ role: "user" }] : request.input) ?? [];
    const hasToolResult = items.at(-1)?.role === "tool" || items.at(-1)?.type === "function_call_output";
    const asksForWeather = JSON.stringify(items.at(-1) ?? {}).includes("weather");
    const reply: Reply = hasToolResult
      ? { text: ["It is 18 °C ", "in Paris."] }
      : asksForWeather
        ? { tool: { name: "get_weather", arguments: '{"city":"Paris"}' } }
        : { text: ["Take a light ", "jacket."] };
    const counts = hasToolResult
      ? { input: 90, output: 10, cached: 64 }
      : { input: 60, output: "tool" in reply ? 15 : 5, cached: 0 };
    served.requests += 1;
    for (const kind of ["input", "output", "cached"] as const) served[kind] += counts[kind];
    write(response, { request, reply, counts, number: served.requests });
  };
  const server = await startUpstream({
    "POST /v1/chat/completions": respond(writeChatCompletion),
    "POST /v1/responses": respond(writeResponse),
  });
  return { ...server, url: `${server.url}/v1`, served };
}

interface Completion {
  request: ModelRequest;
  reply: Reply;
  counts: { input: number; output: number; cached: number };
  number: number;
}

type Writer = (response: ServerResponse, completion: Completion) => void;

function writeChatCompletion(response: ServerResponse, { request, reply, counts, number }: Completion): void {
  const usage = {
    prompt_tokens: counts.input,
    completion_tokens: counts.output,
    total_tokens: counts.input + counts.output,
    prompt_tokens_details: { cached_tokens: counts.cached },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
  const base = { id: `chatcmpl-${number}`, created, model };
  const finishReason = "tool" in reply ? "tool_calls" : "stop";
  const toolCalls = "tool" in reply ? [{ id: `call_${number}`, type: "function", function: reply.tool }] : undefined;
  if (request.stream !== true) {
    const content = "text" in reply ? reply.text.join("") : null;
    const message = { role: "assistant", content, ...(toolCalls && { tool_calls: toolCalls }) };
    json(response, {
      ...base,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: finishReason }],
      usage,
    });
    return;
  }
  const deltas: object[] =
    "text" in reply
      ? reply.text.map((content) => ({ content }))
      : [{ tool_calls: toolCalls?.map((call) => ({ index: 0, ...call })) }];
  const chunk = (choices: object[], rest: object = {}) => ({
    ...base,
    object: "chat.completion.chunk",
    choices,
    ...rest,
  });
  const withUsage = request.stream_options?.include_usage === true;
  const events = [
    ...deltas.map((delta, index) =>
      chunk([{ index: 0, delta: index === 0 ? { role: "assistant", ...delta } : delta, finish_reason: null }]),
    ),
    chunk([{ index: 0, delta: {}, finish_reason: finishReason }]),
    ...(withUsage ? [chunk([], { usage })] : []),
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end("data: [DONE]\n\n");
}

interface StreamEvent {
  type: string;
  [field: string]: unknown;
}

function writeResponse(response: ServerResponse, { request, reply, counts, number }: Completion): void {
  const usage = {
    input_tokens: counts.input,
    input_tokens_details: { cached_tokens: counts.cached },
    output_tokens: counts.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: counts.input + counts.output,
  };
  const done = { status: "completed" };
  const item =
    "tool" in reply
      ? { type: "function_call", id: `fc_${number}`, call_id: `call_${number}`, ...reply.tool, ...done }
      : {
          type: "message",
          id: `msg_${number}`,
          role: "assistant",
          content: [{ type: "output_text", text: reply.text.join(""), annotations: [] }],
          ...done,
        };
  const base = {
    id: `resp_${number}`,
    object: "response",
    created_at: created,
    model,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: "auto",
    tools: [],
    top_p: 1,
  };
  const whole = { ...base, status: "completed", output: [item], usage };
  if (request.stream !== true) {
    json(response, whole);
    return;
  }
  const at = { output_index: 0, item_id: item.id };
  const inText = { ...at, content_index: 0 };
  const part = (text: string) => ({ type: "output_text", text, annotations: [] });
  const pieces: StreamEvent[] =
    "text" in reply
      ? [
          { type: "response.content_part.added", ...inText, part: part("") },
          ...reply.text.map((delta) => ({ type: "response.output_text.delta", ...inText, delta, logprobs: [] })),
          { type: "response.output_text.done", ...inText, text: reply.text.join(""), logprobs: [] },
          { type: "response.content_part.done", ...inText, part: part(reply.text.join("")) },
        ]
      : [
          { type: "response.function_call_arguments.delta", ...at, delta: reply.tool.arguments },
          { type: "response.function_call_arguments.done", ...at, ...reply.tool },
        ];
  const begun = { ...item, status: "in_progress", ...("tool" in reply ? { arguments: "" } : { content: [] }) };
  const events: StreamEvent[] = [
    { type: "response.created", response: { ...base, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: begun },
    ...pieces,
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const [index, event] of events.entries()) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`);
  }
  response.end();
}
