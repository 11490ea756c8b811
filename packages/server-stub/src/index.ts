export type { Access, NamedProject } from "./operations/access.js";
export { createServer, type ServerOptions } from "./server.js";
export type { GroupHandler, HandlerGroup } from "./operations/handler-group.js";
export { type Credentials, readCredentials } from "./credentials.js";
export type { GroupDefinition, OperationEntry } from "./operations/definition.js";
export type {
  Bytes,
  Incoming,
  None,
  PartialHandlers,
  RawBody,
  SchemasOf,
  StreamedBody,
} from "./operations/handlers.js";
export {
  BodyAlreadyRead,
  type BodyForm,
  BodyStalled,
  BodyTooLarge,
  ClientDisconnected,
  type Encoding,
  type HttpRequest,
  type HttpResponse,
  type HttpServer,
  Overloaded,
  ResponseTooLarge,
  type Sink,
  type StreamBody,
} from "./http.js";
export {
  type Interceptor,
  onResponseEnd,
  type RequestContext,
  type Respond,
  type ResponseEnd,
} from "./operations/interceptors.js";
export { guardOrigins, type OriginOptions } from "./guard-origins.js";
export { decodeText, openBody, readBody } from "./request/body.js";
export { JsonPieces } from "./json/pieces.js";
export { writeJson } from "./json/write.js";
export type { FilePart } from "./request/multipart.js";
export { type Detail, ItemError, Problem, type ProblemOptions } from "./problem.js";
export { RawJson, rawJson } from "./json/raw-json.js";
export { requestLoc } from "./request/request-loc.js";
export { errorResponse, securityHeaders } from "./response/response.js";
export { writeSlices } from "./response/write-slices.js";
export { type Outcome, Reply, reply } from "./response/reply.js";
export { SharedItems, type StreamedEvent } from "./response/shared-items.js";
