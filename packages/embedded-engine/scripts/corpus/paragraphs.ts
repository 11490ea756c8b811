import type { Generator, Passage } from "./example.js";

/** Written for this corpus. A passage is one to three neighbouring sentences of a paragraph. */
const paragraphs = [
  `A trace is the record of one run. It begins with a root call and holds every call that the root made. Each call has
  inputs, an output, a start and an end. When a call fails, its exception is kept beside its inputs. So you can see later
  what was asked, what was answered, and how long it took.`,
  `An operation is a function whose runs are recorded. The name of the operation says what ran. Its version says which
  code it was. Two runs of the same version with the same inputs can still differ, because a model draws its words by
  chance.`,
  `An evaluation runs a model on a list of examples and scores each answer. The score is a number or a label. The mean of
  the scores tells whether a change made things better. A small list that you know well is worth more than a large one
  that nobody has read.`,
  `Training changes the weights of a model so that good answers become more likely. Supervised training shows it the
  answer. Reinforcement learning lets it answer and gives a reward. In both the gradient says in which direction every
  weight should move.`,
  `In a group the same prompt is answered several times. Each answer gets a reward. The advantage of an answer is its
  reward minus the mean of the group. Answers above the mean become more likely, answers below it less likely. When all
  rewards of a group are equal, there is nothing to learn from it.`,
  `A checkpoint holds the weights after a step. It is written under a temporary name and then renamed, so that it is there
  whole or not at all. From a checkpoint training can go on, and a sampler can answer with it.`,
  `A tokenizer cuts text into pieces. The pieces have numbers, and the model knows nothing else. Common words are one
  piece, rare words are several. Every byte is a piece of its own, so no text is unknown.`,
  `The sampler reads the prompt once and then writes one token at a time. At temperature zero it takes the most likely
  token. At temperature one it draws from the whole distribution. It stops at the end of the turn, at a stop string, or
  when the limit is reached.`,
  `A learning rate that is too high makes the loss jump. One that is too low makes it crawl. It rises during the first
  steps and falls towards the end. The norm of the gradient is cut so that one bad batch cannot spoil the weights.`,
  `A log-probability says how likely a token was. It is never above zero. The sum over all tokens of an answer says how
  likely the answer was. If it falls far below the old one, the model has moved away from what sampled the answer.`,
  `The service stores calls, objects, tables and files. A call is found by its id, an object by its digest. What was
  stored once does not change: a new value gets a new digest. So a ref that you keep today means the same tomorrow.`,
  `A key opens one project or all of them. Without a key every request is refused. The answer does not say whether the
  project exists. A key that was lost is replaced by a new one, and the old one stops working at once.`,
  `Spans come from many libraries. Each becomes a call with a name, a start and an end. Tokens are counted under the name
  of the model. A span without a parent is the root of its trace. A span that is sent twice is kept once.`,
  `A reward is only as good as its rule. If the rule can be tricked, training will find the trick. Read some answers at
  every step and not only the mean. A curve that rises too fast is a reason to look.`,
  `A dataset is a table of rows. Each row has the same columns. A row is addressed by its digest, and the table by the
  digests of its rows. To change one row is to make a new table that shares all the other rows with the old one.`,
  `An adapter is a small change beside the weights. It has two thin matrices for each wide one. Only the thin ones are
  trained, so it needs little memory and little room on disk. Many adapters can share the same base model.`,
].map((paragraph) => paragraph.replace(/\s+/g, " ").split(/(?<=[.]) /));

/** The start and end of a passage are held out, not its sentences, which are to be memorised. */
export const paragraph: Generator = (random): Passage => {
  const sentences = random.pick(paragraphs);
  const first = random.below(sentences.length);
  const text = sentences.slice(first, first + 1 + random.below(3)).join(" ");
  return { text, key: text };
};
