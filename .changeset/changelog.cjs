// How notes are written into the CHANGELOG of a package: as their author wrote them, without hashes, which say nothing to
// those who use a package.

module.exports = {
  /** A note: the first line as an item, the others below it. */
  async getReleaseLine({ summary }) {
    const [first, ...others] = summary.trim().split("\n");
    return [`- ${first}`, ...others.map((line) => (line === "" ? "" : `  ${line}`))].join("\n");
  },

  /** The other packages that a new version asks for, as one item. */
  async getDependencyReleaseLine(_changesets, dependencies) {
    if (dependencies.length === 0) return "";
    return `- Needs ${dependencies.map(({ name, newVersion }) => `\`${name}\` ${newVersion}`).join(", ")}.`;
  },
};
