import type { StructuredOutput } from "./structured-output.js";
import { parentPort, workerData } from "node:worker_threads";
import { HeddleError } from "@heddle/errors";
import { mutex, runInBackground, toWireError } from "@heddle/concurrency";
import type { Compiled } from "./compiled-grammars.js";
import { compiledGrammars } from "./compiled-grammars.js";
import { libraryFailure } from "./library-failure.js";
import { hasOtherBits, tokenBits, tokensText } from "./token-text.js";
import type {
  GrammarWorkerData,
  GrammarWorkerReply,
  GrammarWorkerRequest,
  GrammarWorkerValue,
} from "./grammar-worker-protocol.js";
import type { GrammarMatcher } from "./xgrammar-library.js";
import { limitWasmMemory, loadXGrammar } from "./xgrammar-library.js";

// Entry point of the thread that compiles grammars and computes the allowed tokens. User input is parsed only here: it
// may hang, abort the library or exhaust the memory, and then only this thread is lost.

interface Session {
  compiled: Compiled;
  matcher: GrammarMatcher;
  tokens: number[];
  ended: boolean;
}

const data = workerData as GrammarWorkerData;
runInBackground();
const printed: string[] = [];
let memoryRefused = false;
const sessions = new Map<number, Session>();
const bits = tokenBits(data.bytes, data.ends, data.vocabularySize, data.eosIds);
const opened = open();
const inOrder = mutex();
void inOrder(() =>
  respond(0, async () => {
    await opened;
    return {};
  }),
);

parentPort?.on("message", (request: GrammarWorkerRequest) => void inOrder(() => serve(request)));

async function open() {
  limitWasmMemory(data.memoryBytes, () => {
    memoryRefused = true;
  });
  const library = loadXGrammar((line) => {
    if (printed.push(line) > 20) printed.shift();
  });
  return { library, grammars: await compiledGrammars(library, data) };
}

async function serve(request: GrammarWorkerRequest): Promise<void> {
  if (request.do === "close") {
    sessions.get(request.session)?.matcher.dispose();
    sessions.delete(request.session);
    return;
  }
  await respond(request.id, async () => {
    const session = request.output ? await start(request.session, request.output) : sessions.get(request.session);
    if (!session) throw new HeddleError("failed", "The constraint of this completion is closed.");
    for (const token of request.tokens) accept(session, token);
    return request.do === "verify" ? verify(session) : next(session);
  });
}

async function start(id: number, output: StructuredOutput): Promise<Session> {
  const { library, grammars } = await opened;
  const compiled = await grammars.compile(output);
  const matcher = await library.GrammarMatcher.createGrammarMatcher(compiled.grammar);
  const session: Session = { compiled, matcher, tokens: [], ended: false };
  sessions.set(id, session);
  return session;
}

function accept(session: Session, token: number): void {
  const allowed = ((bits.usable[token >>> 5] ?? 0) >>> (token & 31)) & 1;
  const isEnd = data.eosIds.includes(token);
  if (session.ended && isEnd) return;
  if (!allowed || session.ended || !session.matcher.acceptToken(token)) {
    throw new HeddleError("failed", `Token ${token} was sampled although the constraint does not allow it.`);
  }
  session.ended = session.matcher.isTerminated();
  if (!isEnd) session.tokens.push(token);
}

async function next(session: Session): Promise<GrammarWorkerValue> {
  if (session.ended) return { mask: bits.end.slice(), onlyEos: true };
  const mask = await session.matcher.getNextTokenBitmask();
  const last = session.tokens.at(-1);
  const forbidden = last === undefined ? undefined : bits.notAfter.get(data.bytes[(data.ends[last] ?? 0) - 1] ?? 0);
  for (const [index, word] of bits.usable.entries())
    mask[index] = (mask[index] ?? 0) & word & ~(forbidden?.[index] ?? 0);
  const onlyEos = !hasOtherBits(mask, bits.end);
  if (onlyEos && mask.every((word) => word === 0)) {
    const reason = "No token of the vocabulary can continue the text under the constraint.";
    throw new HeddleError("invalid", reason);
  }
  return { mask, onlyEos };
}

function verify({ compiled, tokens }: Session): GrammarWorkerValue {
  if (!compiled.validator) return {};
  const text = tokensText(tokens, data.bytes, data.ends);
  const reason = text === undefined ? "its bytes are not UTF-8" : compiled.validator(text);
  if (reason === undefined) return {};
  throw new HeddleError("failed", `The finished text does not satisfy the JSON schema: ${reason}.`);
}

async function respond(id: number, work: () => Promise<GrammarWorkerValue> | GrammarWorkerValue): Promise<void> {
  printed.length = 0;
  const start = performance.now();
  try {
    const value = await work();
    reply({ id, value: { ...value, tookMs: performance.now() - start } });
  } catch (error) {
    const known = error instanceof HeddleError ? toWireError(error) : undefined;
    const limit = memoryRefused ? data.memoryBytes : undefined;
    reply({ id, error: known ?? libraryFailure(error, printed, limit), broken: !known });
  }
}

function reply(message: GrammarWorkerReply): void {
  const mask = "value" in message ? message.value.mask : undefined;
  parentPort?.postMessage(message, mask ? [mask.buffer as ArrayBuffer] : []);
}
