/**
 * One unit of a stream on a wire: a server-sent event, or a line of JSON, which has `data` only. A frame with only a `comment` is no
 * event to any client.
 */
export interface Frame {
  event?: string;
  data?: string;
  id?: string;
  comment?: string;
}
