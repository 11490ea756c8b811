/** A piece of feedback as it is given by hand. */
export interface NewFeedback {
  feedback_type: string;
  payload: Record<string, unknown>;
}

/** What keys 1 to 5 give. */
export const emojis = ["👍", "👎", "🎉", "❤️", "❓"] as const;

export const reactionType = "wandb.reaction.1";
export const noteType = "wandb.note.1";
/** Characters of a note. */
export const longestNote = 1024;

export const reaction = (emoji: string): NewFeedback => ({ feedback_type: reactionType, payload: { emoji } });
export const note = (text: string): NewFeedback => ({ feedback_type: noteType, payload: { note: text } });
