# The table of public names: type checkers see it as imports, __init__.py makes each on first use.
from modae import core as core
from modae import datasets as datasets
from modae import deep as deep
from modae import display as display
from modae import metrics as metrics
from modae import report as report
from modae.ensembles.classifier import ModularClassifier as ModularClassifier
from modae.ensembles.cv import ModularClassifierCV as ModularClassifierCV
from modae.ensembles.cv import ModularRegressorCV as ModularRegressorCV
from modae.ensembles.neighbors import NearestNeighborClassifier as NearestNeighborClassifier
from modae.ensembles.neighbors import NearestNeighborRegressor as NearestNeighborRegressor
from modae.ensembles.outliers import ModularOutlierDetector as ModularOutlierDetector
from modae.ensembles.regressor import ModularRegressor as ModularRegressor
from modae.files.api import describe as describe
from modae.files.api import load as load
from modae.files.api import save as save
from modae.files.archive import ModelFormatError as ModelFormatError
from modae.linear.autoencoder import LinearModularAutoencoder as LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder as BaggingAutoencoder
from modae.linear.regressor import LinearModularRegressor as LinearModularRegressor
from modae.onnx.api import export_onnx as export_onnx
from modae.sources.batches import Batches as Batches
from modae.sources.batches import open_batches as open_batches
from modae.streaming.fitting import fit_stream as fit_stream
from modae.streaming.transforming import transform_stream as transform_stream
from modae.utils.extras import show_versions as show_versions

__version__: str
