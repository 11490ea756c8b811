/** An item of a stream with the id that it has as a server-sent event; JSON Lines have the item alone. Made by `eventItem`. */
export class EventItem<Item> {
  readonly id: string;
  readonly item: Item;

  constructor(id: string, item: Item) {
    this.id = id;
    this.item = item;
  }
}

/** `yield eventItem("42", change)`: a client that reconnects sends the id of the last event that has one. */
export function eventItem<Item>(id: string, item: Item): EventItem<Item> {
  return new EventItem(id, item);
}
