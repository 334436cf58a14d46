"""Trains a small transformer for two steps, on the CPU. The program knows nothing of fp32shim:

    fp32shim run --where torch -- python3 examples/where/transformer.py
"""

import torch
from torch import nn

WORDS, WIDTH, LENGTH, BATCH = 1000, 128, 64, 16


class Translator(nn.Module):
    """Reads a sentence and gives a word for each of its positions."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, nhead=4, dim_feedforward=4 * WIDTH, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=4)
        self.decoder = nn.Linear(WIDTH, WORDS)

    def forward(self, sentences):
        return self.decoder(self.encoder(self.words(sentences) + self.places))


torch.manual_seed(1)
model = Translator()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
sentences = torch.randint(WORDS, (BATCH, LENGTH))
answers = sentences.roll(1, dims=1)
for step in (1, 2):
    loss = nn.functional.cross_entropy(model(sentences).flatten(0, 1), answers.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.9g}")
