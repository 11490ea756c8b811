// Trajectories as clients send them, with tokens of the model `random:tiny`.

/** A choice as chat completions return it: 1017 ends the turn. */
export function choice(content: string, ids: readonly number[] = [...Buffer.from(content)]) {
  return {
    finish_reason: "stop",
    index: 0,
    message: { role: "assistant", content, refusal: null, tool_calls: null },
    logprobs: {
      content: [...ids, 1017].map((id) => ({
        token: `token_id:${id}`,
        logprob: -6 - id / 1000,
        bytes: null,
        top_logprobs: [],
      })),
      refusal: null,
    },
    stop_reason: null,
  };
}

export function trajectory(reward: number, answer: unknown, question = "yes or no?") {
  return {
    messages_and_choices: [{ role: "user", content: question }, answer],
    tools: null,
    additional_histories: [],
    reward,
    metrics: { duration: 1 },
    metadata: { scenario_id: "a", note: null },
    logs: [],
  };
}

/** A group of which one answer is rewarded. */
export function group(question?: string) {
  return { trajectories: [trajectory(1, choice("yes"), question), trajectory(0, choice("no"), question)] };
}
