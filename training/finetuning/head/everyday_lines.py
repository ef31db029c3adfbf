"""Lines that any mail may have, against which a head learns how a text of its task differs, see `LinearProblem`."""

_LINES = """
Hello everybody. | Good day to you. | I hope this message finds you in good health. | Thank you very much.
With best wishes, John Smith | Sent from my phone | Enjoy your day. | Telephone 0123 456789, Main Street 5, London
My name is Mary and I write to you today. | I have a question. | Please help me. | Talk to you soon.
Dear colleagues, | How are you? | It is nice to meet you. | I am a new customer. | See you next week.
Let me know what you think. | Thanks again for everything. | Yours truly, Robert | www.company.com
Manager, Sales Department | I am looking forward to your answer. | Sorry for the trouble. | Hi there,
Good morning, everyone. | To whom it may concern: | Hello again! | I am contacting you about the following.
Could you please look into this? | Many thanks in advance for your support. | Any help is appreciated.
Please get back to me as soon as possible. | Kind regards, Anna | Best, Tom | Cheers, Peter | Have a great weekend!
All the best, Dr. Maria Lopez | This message and any attachments are confidential.
Phone +1 555 0100, fax +1 555 0101 | info@example.com | Head of Marketing, Example Ltd.
P.O. Box 100, 10115 Berlin, Germany | Please consider the environment before printing. | On Monday, Jane Doe wrote:
I have attached a file. | As discussed on the phone, | Sorry to bother you again. | Guten Tag,
Sehr geehrte Damen und Herren, | Vielen Dank im Voraus. | Mit freundlichen Grüßen, Hans Müller | Bonjour,
Merci beaucoup pour votre aide. | Cordialement, Marie Dupont | Buenos días, | Muchas gracias por su atención.
Un saludo, Carlos | Buongiorno, | Grazie mille e cordiali saluti. | Bom dia, | Obrigado e atenciosamente,
Met vriendelijke groet, | Dzień dobry, pozdrawiam serdecznie. | Добрый день! | С уважением, Иван
İyi günler, teşekkürler. | 您好，谢谢。 | よろしくお願いします。 | السلام عليكم، شكرا.
"""
EVERYDAY_LINES = [line for row in _LINES.strip().splitlines() for line in row.split(" | ")]
