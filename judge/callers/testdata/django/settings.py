import os

DATABASES = {
    "default": {
        "ENGINE": "midstream_django",
        "HOST": "127.0.0.1",
        "PORT": os.environ["DB_PORT"],
        "USER": "app",
        "PASSWORD": os.environ["DB_PASSWORD"],
        "NAME": "shop",
    }
}
INSTALLED_APPS = ["shop"]
SECRET_KEY = "none"
USE_TZ = True
