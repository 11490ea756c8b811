/** What readers type, and the words of these pages for it. A word may be said in several ways. */
const synonyms: readonly (readonly [typed: RegExp, ...meant: string[]])[] = [
  [/\bpaginat\w*|\bpaging\b|\bcursors?\b/, "pages"],
  [/\bweb ?hooks?\b|\bcallback urls?\b/, "webhooks", "alerts"],
  [/\brate[- ]?limit\w*|\bthrottl\w*|\btoo many requests\b/, "errors and retries", "429"],
  [/\bback ?off\b|\bretry(?:ing)?\b/, "retries", "errors and retries"],
  [/\bfine[- ]?tun\w*/, "train with examples", "train"],
  [/\bsft\b/, "train with examples"],
  [/\bgrpo\b|\bppo\b|\brlhf\b|\breinforcement learning\b/, "train with rewards"],
  [/\bsdks?\b|\bclient librar(?:y|ies)\b/, "weave sdks", "client"],
  [/\botel\b|\botlp\b/, "opentelemetry"],
  [/\bllm[- ]as[- ]a[- ]judge\b|\bllm judge\b/, "scorers"],
  [/\bevals?\b|\bbenchmark\b/, "evaluate"],
  [/\binstall\w*|\bquick ?start\b|\bhello world\b/, "getting started"],
  [/\bdocker\b|\bkubernetes\b|\bk8s\b|\bhelm\b/, "deploying"],
  [/\benv(?:ironment)? var(?:iable)?s?\b|\bconfig(?:uration)?\b/, "settings"],
  [/\bpric(?:es?|ing)\b|\bspend(?:ing)?\b/, "costs"],
  [/\bsessions?\b|\bconversations?\b/, "threads"],
  [/\bdownload\b|\bparquet\b|\bcsv\b/, "exports"],
  [/\bthumbs up\b|\brat(?:e|ing)s?\b/, "feedback"],
  [/\bhuman review\b|\blabell?ing\b/, "annotation queues"],
  [/\bbackups?\b|\bmonitoring\b/, "operating"],
  [/\binference\b|\bchatgpt\b/, "chat completions"],
];

/** A text in the words of these pages: once for each way to say what it asks for. Empty when it is in them already. */
export function inOtherWords(text: string): string[] {
  const lower = text.toLowerCase();
  return synonyms.flatMap(([typed, ...meant]) =>
    typed.test(lower) ? meant.map((words) => lower.replace(typed, words)) : [],
  );
}
