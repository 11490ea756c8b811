/**
 * What is shown next to the tree: a call of a model as its messages, or as JSON, or the conversation of the whole trace. The
 * address names it where it is not the first.
 */
export const detailViews = ["messages", "json", "trace"] as const;
export type DetailView = (typeof detailViews)[number];
