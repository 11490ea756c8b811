export { openChatModel, trainedTexts } from "./chat-model.js";
export * from "./chat-templates.js";
export { sentencePieceTokenizer } from "./text-models.js";
