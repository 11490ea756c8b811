import { visibleLine } from "../ui/visible-text.js";

/** Aliases, which one version of a name has at a time, and tags, which any may have. */
export function Labels({ aliases, tags }: { aliases: readonly string[]; tags: readonly string[] }) {
  return (
    <span className="labels">
      {aliases.map((alias) => (
        <span key={`alias ${alias}`} className="label is-alias given" title="alias">
          {visibleLine(alias)}
        </span>
      ))}
      {tags.map((tag) => (
        <span key={`tag ${tag}`} className="label given" title="tag">
          #{visibleLine(tag)}
        </span>
      ))}
    </span>
  );
}
