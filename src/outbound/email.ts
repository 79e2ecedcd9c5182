/** Sends messages as plain text by SMTP. */

import { isThisMachine } from '../core/this-machine.ts';
import { seconds } from '../core/time.ts';
import { type EmailChannel, type Outgoing, sinceText } from './channel.ts';

/** Some servers let every sender wait before they greet. */
const deadline = seconds(30);

/** One try, to all recipients at once. The error of a sent message names recipients whom the server refused. `isRefused`: another try would end the same way. */
export async function sendEmail(channel: EmailChannel, outgoing: Outgoing, signal: AbortSignal) {
  const { createTransport } = await import('nodemailer');
  const { from, to } = channel;
  const { title, cause, next } = outgoing.message;
  const url = channel.url.reveal();
  // Passwords and messages are encrypted on their way. A server on this machine often has no valid certificate.
  const isHere = isThisMachine(new URL(url).hostname);
  const transport = createTransport({ url, requireTLS: !isHere, ignoreTLS: isHere });
  const lines = [title, sinceText(outgoing.message), cause, '', next].filter((line) => line !== null);
  try {
    const { rejected } = await transport.sendMail({
      from,
      to: [...to],
      subject: `Tidemark: ${title}`,
      text: `${lines.join('\n')}\n`,
      messageId: `<${outgoing.notification_id}@${from.split('@')[1]}>`,
      // No automatic reply is wanted (RFC 3834).
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(deadline)]),
    });
    const refused = rejected.length > 0 ? `the mail server refused ${rejected.join(', ')}` : null;
    return { isSent: true, isRefused: false, error: refused };
  } catch (error) {
    // Its message may quote what the server says of the login.
    const { code, name, responseCode } = error as NodeJS.ErrnoException & { responseCode?: number };
    const answer = responseCode === undefined ? '' : `, the server answered ${responseCode}`;
    // 5xx is final, 4xx asks for another try (RFC 5321, 4.2.1). A login or encryption that fails may be mended within the day.
    const isRefused =
      responseCode !== undefined && responseCode >= 500 && !['ETLS', 'EAUTH'].includes(code ?? '');
    return { isSent: false, isRefused, error: `email could not be sent: ${code ?? name}${answer}` };
  }
}
