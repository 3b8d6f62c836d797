/** One server-sent event, as a wire reads or writes it. A frame with only a `comment` is no event to any client. */
export interface ServerSentEvent {
  event?: string;
  data?: string;
  id?: string;
  comment?: string;
}
