"""Twelve models as torch.compile meets them: {name: (what is called, its inputs, whether it is differentiated)}."""
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width=512, heads=8):
        super().__init__()
        self.heads, self.into, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.into(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / (width // self.heads)**0.5
        seen = torch.ones(length, length, device=x.device, dtype=torch.bool).tril()
        weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.attention, self.first, self.second = Attention(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Transformer(nn.Module):
    def __init__(self, words=4096, width=512, length=256):
        super().__init__()
        self.embedding, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(length, width))
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, tokens, targets):
        logits = self.head(self.norm(self.blocks(self.embedding(tokens) + self.places)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.linear = nn.EmbeddingBag(10000, 128, mode="sum"), nn.Linear(128, 10)

    def forward(self, items, offsets):
        return self.linear(self.embedding(items, offsets)).tanh()


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32)

    def forward(self, x):
        return F.relu(self.norm(self.convolution(x))).mean((2, 3))


def scan(x):
    return x.cumsum(-1), x.abs().neg().exp().cumprod(0), torch.logcumsumexp(x, 1), torch.cummax(x, 1)[0]


def sort(x):
    return *x.sort(dim=-1, stable=True), torch.argsort(x, dim=0, stable=True), x.topk(5).values, *x.sort(dim=-1, stable=True, descending=True)


def reduction(x):
    return (x.sum(), x.amax(0), x.argmax(-1), x.var(0), x.std(-1), (1 + x / 100).prod(-1), (x > 3).any(), torch.norm(x, 2, 1), x.mean(),
            torch.logsumexp(x, 1), x.argmin(0), *torch.var_mean(x, 1))


def gather_scatter(x, places):
    rows = places[:, 0] % x.shape[0]
    zeros = torch.zeros_like(x)
    return (x.gather(1, places), zeros.scatter_add(1, places, x), x[rows], zeros.index_add(0, rows, x), x.index_select(0, rows),
            zeros.scatter_reduce(1, places, x, "amax"))


def softmax_cross_entropy(x, targets):
    return F.cross_entropy(x, targets, label_smoothing=0.1) + F.nll_loss(F.log_softmax(x, 1), targets)


def pointwise(x):
    near = x.clamp(-0.99, 0.99)
    return (F.dropout(x.sin() * x.cos(), 0.3), torch.rand_like(x), torch.randn_like(x), F.softplus(x), x.abs().pow(0.3), torch.erf(x),
            x.expm1(), near.log1p(), x.tanh(), torch.atan2(x, x + 1), (100 * x).int() // 3, x.bfloat16().half(), x.round(),
            torch.fmod(x, 0.7), torch.remainder(x, 0.7), x.asinh(), x.sinh(), near.acos(), near.asin(), near.atanh(), x.cosh(), x.tan(),
            x.exp2(), x.abs().log10(), x.frac(), torch.signbit(x), torch.copysign(x, -x), torch.hypot(x, x), x.double().sin(), x.erfc(),
            F.gelu(x), F.gelu(x, approximate="tanh"), F.mish(x), F.hardswish(x), F.elu(x), near.logit(), x.abs().rsqrt(), x.nan_to_num())


def random(*shape):
    return torch.randn(*shape, device="cuda")


def integers(high, *shape):
    return torch.randint(0, high, shape, device="cuda")


def models():
    """Made on the current GPU, with the generator's numbers."""
    mlp = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(approximate="tanh"), nn.Linear(4096, 1024), nn.SiLU(), nn.Linear(1024, 64))
    return {
        "mlp": (mlp.cuda(), (random(2048, 1024),), True),
        "attention": (Attention().cuda(), (random(4, 512, 512),), True),
        "layer_norm": (nn.LayerNorm(4096).cuda(), (random(4096, 4096),), True),
        "embedding_bag": (Bag().cuda(), (integers(10000, 16384), torch.arange(0, 16384, 16, device="cuda")), True),
        "conv_batch_norm": (Convolution().cuda(), (random(16, 3, 128, 128),), True),
        "transformer": (Transformer().cuda(), (integers(4096, 8, 256), integers(4096, 8, 256)), True),
        "scan": (scan, (random(1024, 2000),), False),
        "sort": (sort, (random(1024, 500),), False),
        "reduction": (reduction, (random(4096, 5000),), False),
        "gather_scatter": (gather_scatter, (random(1024, 1024), integers(1024, 1024, 1024)), False),
        "softmax_cross_entropy": (softmax_cross_entropy, (random(4096, 5000).requires_grad_(), integers(5000, 4096)), True),
        "pointwise": (pointwise, (random(1024, 4096),), False),
    }
