import { useRef } from "react";
import { possibleWidth } from "./column-width.js";

interface Props {
  /** Told while the pointer drags; undefined: no more. */
  onDrag: (width: number | undefined) => void;
  /** Undefined: as wide as by itself. */
  onResize: (width: number | undefined) => void;
}

/** The right edge of the head of a column. Who has no pointer enters widths where columns are chosen. */
export function ResizeHandle({ onDrag, onResize }: Props) {
  const begin = useRef<{ x: number; width: number }>(undefined);
  const widthAt = (x: number) => possibleWidth((begin.current?.width ?? 0) + x - (begin.current?.x ?? 0));
  const end = () => {
    begin.current = undefined;
    onDrag(undefined);
  };
  return (
    <span
      className="grid-resize"
      aria-hidden
      title="Drag to resize; double click for its own width"
      onPointerDown={(event) => {
        const head = event.currentTarget.parentElement;
        if (event.button !== 0 || head === null) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        begin.current = { x: event.clientX, width: head.offsetWidth };
      }}
      onPointerMove={({ clientX }) => begin.current !== undefined && onDrag(widthAt(clientX))}
      onPointerUp={({ clientX }) => {
        if (begin.current !== undefined && clientX !== begin.current.x) onResize(widthAt(clientX));
        end();
      }}
      onPointerCancel={end}
      onDoubleClick={() => onResize(undefined)}
    />
  );
}
