/** The indexes of the words of calls, of which the table has at most one. */
export const textIndexNames = ["i_words_bloom", "i_words_text"] as const;
