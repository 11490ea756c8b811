export { wrapOpenAI } from "./openai.js";
export { flush } from "./sender.js";
export { init } from "./settings.js";
export type { TraceOptions } from "./settings.js";
export type { SpanOptions } from "./span.js";
export { trace } from "./trace.js";
export type { FunctionOptions } from "./trace.js";
