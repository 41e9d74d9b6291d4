"""A Django site with its own login page, its admin and a login by JSON.

django_site.py FOLDER [VALIDATOR]: makes a database in the folder, and serves until it is ended. The
first line that it prints is its port.
"""

from __future__ import annotations

import json
import sys

import django
from django.conf import settings
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

from saltern.django import YescryptPasswordHasher

PASSWORD = "correct horse"
OLD_PASSWORD = "a right password of another hasher, " * 20


class Cheap(YescryptPasswordHasher):
    cost = 1


def configure(folder: str, validators: list[str]) -> None:
    settings.configure(
        ALLOWED_HOSTS=["*"],
        SECRET_KEY="a test",
        ROOT_URLCONF="django_site",
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        LOGIN_REDIRECT_URL="/in",
        INSTALLED_APPS=[
            "django.contrib.admin",
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.messages",
            "django.contrib.sessions",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/database"}
        },
        PASSWORD_HASHERS=[
            "django_site.Cheap",
            "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        ],
        AUTH_PASSWORD_VALIDATORS=[{"NAME": name} for name in validators],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "loaders": [
                        ("django.template.loaders.locmem.Loader", {"form": "{{ form.errors }}"}),
                        "django.template.loaders.app_directories.Loader",
                    ],
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ],
                },
            }
        ],
    )
    django.setup()


def login(request):
    from django.contrib.auth import authenticate
    from django.http import JsonResponse

    user = authenticate(request, **json.loads(request.body))
    return JsonResponse({"in": user is not None}, status=401 if user is None else 200)


def __getattr__(name):
    # Once the applications are there.
    if name != "urlpatterns":
        raise AttributeError(name)
    from django.contrib import admin
    from django.contrib.auth.views import LoginView
    from django.http import HttpResponse
    from django.urls import path

    return [
        path("admin/", admin.site.urls),
        path("form", LoginView.as_view(template_name="form")),
        path("json", login),
        path("in", lambda request: HttpResponse(request.user.get_username())),
    ]


def fill() -> None:
    from django.contrib.auth.hashers import make_password
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    User.objects.create_superuser("admin", password=PASSWORD)
    User.objects.create_user("known", password=PASSWORD)
    User.objects.create_user("unusable")
    User.objects.create_user("inactive", password=PASSWORD, is_active=False)
    for name, password in ("old", PASSWORD), ("older", OLD_PASSWORD):
        encoded = make_password(password, hasher="pbkdf2_sha256")
        User.objects.create(username=name, password=encoded)


def main(folder: str, validators: list[str]) -> None:
    configure(folder, validators)
    fill()
    from django.core.wsgi import get_wsgi_application

    server = ThreadedWSGIServer(("127.0.0.1", 0), WSGIRequestHandler)
    server.set_app(get_wsgi_application())
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
