export { contentText } from "./chat-messages.js";
export { openChatTemplate } from "./template.js";
export { renderTemplate } from "./template-render.js";
export type { ChatRequest, ChatTemplate, ChatTemplateOptions } from "./template.js";
export { createTextStream } from "./text-stream.js";
export { openTokenizer } from "./tokenizer.js";
export type { Tokenizer } from "./tokenizer.js";
